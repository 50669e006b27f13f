"""The board: task files, claims, and who is alive. Strangers to `agents`."""
