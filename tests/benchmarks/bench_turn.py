"""What a turn costs beside the model: the runner's own time, and that of the way to a provider.

Run: python -m tests.benchmarks.bench_turn [--json]

One task of 400 turns, each a real tool call and a durable transcript, by a scripted model and over
HTTP to a fake server in another process. `own` is the time from a reply to the next request; the
way to a provider is the processor's time from a request to its reply, in which the SDK works. Then
how long `runner run` takes to its first request, and the memory of 50 teammates at work.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from runner import MemberSpec, Settings, run_team
from runner.core.model_settings import ProviderSettings
from runner.core.settings import Limits
from runner.testing import FakeServer, Hanging, Refused, call, make_board, submit
from runner.work.messages import Model, ModelReply, ModelRequest
from runner.work.models import Models
from tests.benchmarks.kit import Figures, show

TURNS = 400
EDGE = 100  # turns at the beginning and at the end that are compared
STARTS = 5
TEAMMATES = 50
BEFORE_REST = 5  # turns of a teammate whose memory is looked at
FORMS = {
    "anthropic": ("anthropic/fake", None),
    "chat": ("openai/fake", "chat"),
    "responses": ("openai/fake", "responses"),
}


class Writer:
    """Writes a note in each turn but the last, in which it hands in."""

    name = "writer/bench"

    async def reply(self, request: ModelRequest) -> ModelReply:
        turn = request.asker.turn
        return (
            submit("done") if turn >= TURNS - 1 else call("write", path="note", content=str(turn))
        )


class Rester:
    """A few turns, then a request that is never answered."""

    name = "rester/bench"

    async def reply(self, request: ModelRequest) -> ModelReply:
        if request.asker.turn >= BEFORE_REST:
            raise Hanging
        return call("write", path=f"{request.asker.task}.txt", content="some words\n" * 200)


class Watched:
    """A model with a note of when it was asked and when it had answered."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.own_ms: list[float] = []
        self.way_ms: list[float] = []
        self._model = model
        self._answered: float | None = None

    async def reply(self, request: ModelRequest) -> ModelReply:
        if self._answered is not None:
            self.own_ms.append(1000 * (time.perf_counter() - self._answered))
        began = time.process_time()
        reply = await self._model.reply(request)
        self.way_ms.append(1000 * (time.process_time() - began))
        self._answered = time.perf_counter()
        return reply


def measure() -> Figures:
    figures = _turns("scripted", Writer())
    for form, (model, api) in FORMS.items():
        with _served() as environ, tempfile.TemporaryDirectory() as folder:
            settings = Settings(model=model, providers={"openai": ProviderSettings(api=api)})
            figures |= _turns(form, Models(settings, base_dir=Path(folder), environ=environ))
    return figures | _starts() | _memory()


def _turns(what: str, models: Model | Models) -> Figures:
    watched = Watched(models.choose(None).model if isinstance(models, Models) else models)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_board(root, [{}])

        async def run() -> None:
            report = await run_team(
                root,
                settings=Settings(
                    members=(MemberSpec(name="ann"),), limits=Limits(max_turns=TURNS)
                ),
                model=watched,
                home=root,
            )
            assert report.exit_code == 0, report.tasks
            if isinstance(models, Models):
                await models.aclose()

        anyio.run(run)
    figures = _both_ends(f"a turn, {what}: own", watched.own_ms)
    if what != "scripted":
        figures |= _both_ends(f"a turn, {what}: way to the provider", watched.way_ms)
    return figures


def _both_ends(what: str, took_ms: list[float]) -> Figures:
    """Medians: the first request of a process, which opens the client, is an outlier."""
    first, last = statistics.median(took_ms[:EDGE]), statistics.median(took_ms[-EDGE:])
    return {
        f"{what}, first {EDGE} turns, ms": first,
        f"{what}, last {EDGE} of {TURNS}, ms": last,
        f"{what}, last by first": last / first,
    }


@contextmanager
def _served() -> Iterator[dict[str, str]]:
    """A server in a process of its own, so that its work is not counted here."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_turn", "--serve"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        keys = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
        yield {**keys, "ANTHROPIC_BASE_URL": url, "OPENAI_BASE_URL": f"{url}/v1"}
        process.communicate()


def _serve() -> None:
    with FakeServer(Writer()) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def _starts() -> Figures:
    """From the start of a process to the first request that it makes."""
    figures: Figures = {}
    for package, model in (("anthropic", "anthropic/fake"), ("openai", "openai/fake")):
        alone = statistics.median(_process_ms(["-c", f"import {package}"]) for _ in range(STARTS))
        took = statistics.median(_first_request_ms(model) for _ in range(STARTS))
        figures |= {
            f"runner run --model {model}, to the first request, ms": took,
            f"python -c 'import {package}', ms": alone,
            f"runner run --model {model}: times its SDK alone": took / alone,
        }
    return figures


def _process_ms(words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True)
    return 1000 * (time.perf_counter() - began)


def _first_request_ms(model: str) -> float:
    with tempfile.TemporaryDirectory() as folder, FakeServer([Refused(400)]) as server:
        make_board(Path(folder), [{}])
        began = time.perf_counter()
        with _running(Path(folder), server, model):
            server.wait_asked(1)
            return 1000 * (time.perf_counter() - began)


def _memory() -> Figures:
    one, many = _resident_kb(1), _resident_kb(TEAMMATES)
    return {
        "one teammate at work, MB in all": one / 1024,
        f"{TEAMMATES} teammates at work, MB in all": many / 1024,
        "a further teammate at work, kB": (many - one) / (TEAMMATES - 1),
    }


def _resident_kb(count: int) -> int:
    with tempfile.TemporaryDirectory() as folder, FakeServer(Rester()) as server:
        make_board(Path(folder), [{"id": number + 1} for number in range(count)])
        with _running(Path(folder), server, "openai/fake", "--members", str(count)) as process:
            server.wait_asked(count * (BEFORE_REST + 1), within_s=120)
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0])


@contextmanager
def _running(
    root: Path, server: FakeServer, model: str, *more: str
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "runner", "run", str(root), "--drain", "--model", model, *more]
    process = subprocess.Popen(
        command,
        env={**os.environ, **server.environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        _serve()
    else:
        show(measure, __doc__)
