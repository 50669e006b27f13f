"""The entry of `runner`: quick answers first, then the one command group that was named.

Nothing heavy is imported here, so that `runner --version` costs a bare interpreter and
`runner tasks ready` loads no model, no team and no event loop.
"""

from __future__ import annotations

import sys

from runner import __version__


def main(argv: list[str] | None = None) -> int:
    """Run one command line (`sys.argv[1:]` by default) and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["--version"]:
        sys.stdout.write(f"runner {__version__}\n")
        return 0
    return _guarded(arguments)


def _guarded(arguments: list[str]) -> int:
    """One of the three places where any exception is caught: it becomes a message and a code."""
    from runner.cli import output

    output.prepare()
    as_json = "--json" in arguments
    try:
        return _dispatch(arguments, as_json=as_json)
    except BrokenPipeError:  # the help, which click writes; all else is written by `output`
        output.silence(sys.stdout)
        return 0
    except OSError as error:  # a folder that may not be written, a full disk: no fault of ours
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}"
        return output.print_error(message, code=1, as_json=as_json)
    except KeyboardInterrupt:
        return output.print_error("interrupted", code=130, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - a person gets a message, the log the traceback
        from runner.core.failures import in_one_line
        from runner.core.log import get_logger

        get_logger("cli").exception("command_crashed")
        message = f"internal error, please report it: {in_one_line(error)}"
        return output.print_error(message, code=1, as_json=as_json)


def _dispatch(arguments: list[str], *, as_json: bool) -> int:
    from runner.cli import output
    from runner.cli.application import execute
    from runner.errors import RunnerError, UsageError

    try:
        return execute(arguments)
    except UsageError as error:
        return output.print_error(str(error), code=2, as_json=as_json)
    except RunnerError as error:
        return output.print_error(str(error), code=1, as_json=as_json)
