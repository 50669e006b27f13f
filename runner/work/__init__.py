"""One task by one agent: history, turn loop, tools, result."""
