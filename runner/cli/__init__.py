"""The command line; the only place with rich and typer."""
