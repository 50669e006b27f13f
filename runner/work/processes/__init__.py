"""Plain commands, and the acceptance commands of a task."""
