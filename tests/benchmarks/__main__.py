"""Every benchmark, one after the other, each in a process of its own.

Run: python -m tests.benchmarks [--json] [NAME ...]

NAME is that of a file without `bench_`. Beside the figures: the machine that they belong to.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.kit import Figures, table

_HERE = Path(__file__).parent
_GIB = 1 << 30


def main() -> None:
    names = sorted(path.stem.removeprefix("bench_") for path in _HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    options = parser.parse_args()
    if wrong := set(options.names) - set(names):
        parser.error(f"no such benchmark: {', '.join(sorted(wrong))}; there are {', '.join(names)}")
    found: dict[str, Figures] = {}
    if not options.json:
        print(", ".join(f"{what}: {value}" for what, value in _machine().items()), flush=True)
    for name in options.names or names:
        found[name] = _figures(name)
        if not options.json:
            print(f"\n{name}\n{table(found[name])}", flush=True)
    if options.json:
        print(json.dumps({"machine": _machine(), "figures": found}, indent=2))


def _figures(name: str) -> Figures:
    command = [sys.executable, "-m", f"tests.benchmarks.bench_{name}", "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    figures: Figures = json.loads(done.stdout)
    return figures


def _machine() -> dict[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main()
