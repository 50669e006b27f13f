"""llama.cpp's server with one model, until the input ends; prints its address.

Run by `.ci/live` with the Python of an environment that has the package `xllamacpp`.
"""

from __future__ import annotations

import importlib
import sys

CONTEXT = 8192
AT_ONCE = 2


def main() -> None:
    xllamacpp = importlib.import_module("xllamacpp")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = AT_ONCE
    parameters.cpuparams.n_threads = 2
    parameters.use_jinja = True
    parameters.port = int(sys.argv[2])
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
