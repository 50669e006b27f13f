"""An asyncio task runner whose workers are autonomous teammates on a board of task files."""

__version__ = "0.1.0"
