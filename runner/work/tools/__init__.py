"""The tools that an agent may call, one file per kind."""
