"""The commands as one typer application, of which only the named part is loaded."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from runner import __version__
from runner.errors import UsageError

# Each word is a module of runner.cli: one with `app`, or one with a function of the same name.
GROUPS = ("tasks", "agents", "team")
COMMANDS = ("demo", "run", "init", "events")
_WITH_VALUE = ("-C", "--directory")


def execute(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Raises: RunnerError."""
    _spare_pydantic()
    words = list(arguments) or ["--help"]
    application = typer.main.get_command(_build(_first_word(words)))
    try:
        result = application.main(words, prog_name="runner", standalone_mode=False)
    except typer.TyperException as error:
        raise UsageError(_with_hint(error)) from error
    return result if isinstance(result, int) else 0


class _Plain:
    """Converts the value of one parameter, or leaves an absent one absent."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: object, ctx: object) -> Any:
        return None if value is None else self._convert(value)


_PLAIN: Mapping[Any, _Plain] = {
    bool: _Plain(bool),
    str: _Plain(str),
    Path: _Plain(Path),
    list[str]: _Plain(list),
}


def _spare_pydantic() -> None:
    """Let flags, texts, paths and lists of texts do without a pydantic validator.

    typer builds one for every parameter, which more than doubles the start-up of a command. The
    function that is replaced is typer's own: where a version lacks it, commands are only slower.
    """
    build = getattr(typer.core, "build_runtime_param", None)
    if build is not None and getattr(build, "__module__", "") != __name__:

        def build_runtime_param(descriptor: Any) -> Any:
            return _PLAIN.get(descriptor.annotation) or build(descriptor)

        vars(typer.core)["build_runtime_param"] = build_runtime_param


def _with_hint(error: typer.TyperException) -> str:
    path = getattr(getattr(error, "ctx", None), "command_path", "runner")
    return f"{error.format_message()} (see `{path} --help`)"


def _first_word(arguments: Sequence[str]) -> str | None:
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in _WITH_VALUE:
            skip = True
        elif not argument.startswith("-"):
            return argument
    return None


def _build(word: str | None) -> typer.Typer:
    application = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Run a team of autonomous teammates on the board of a repository.",
    )
    application.callback()(_root)
    known = (*COMMANDS, *GROUPS)
    for name in known if word not in known else (word,):
        module = importlib.import_module(f"runner.cli.{name}")
        if name in GROUPS:
            application.add_typer(module.app, name=name)
        else:
            application.command(name)(getattr(module, name))
    return application


def _root(
    context: typer.Context,
    directory: Annotated[
        Path | None,
        typer.Option("-C", "--directory", metavar="DIR", help="Work as if started in DIR."),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=lambda on: _version(on),
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    context.obj = directory


def _version(on: bool) -> None:
    if on:
        typer.echo(f"runner {__version__}")
        raise typer.Exit
