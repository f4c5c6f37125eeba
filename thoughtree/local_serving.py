"""The process that serves a model: run by its path, so that nothing of this package is imported.

Its one line on stdout says where it listens. It ends when its stdin does, which is when the program that started it
has ended, however that was.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TextIO

CACHE = 256  # MiB of prompts that are kept, beside those in the slots
LOOK = 1.0  # seconds between two looks at who our parent is


def main() -> None:
    settings = json.loads(sys.argv[1])
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which may still need a reply
    signal.signal(signal.SIGTERM, lambda *_: _end(settings["log"]))
    threading.Thread(target=_until_end, args=(sys.stdin, settings["log"]), daemon=True).start()
    telling = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints belongs in the log too

    library: Any = importlib.import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context"]
    for processor in (params.cpuparams, params.cpuparams_batch):
        processor.n_threads = settings["threads"]
        processor.poll = 0  # threads that spin while they wait are ten times slower beside any other process
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [os.environ["THOUGHTREE_LOCAL_KEY"]]  # else any page in a browser could use it
    params.endpoint_metrics, params.ui = True, False
    params.cache_ram_mib = CACHE
    params.verbosity = 2  # errors and warnings: the log of a long run stays short
    server = library.Server(params)
    telling.write(json.dumps({"address": server.listening_address}) + "\n")
    telling.close()
    while os.getppid() == parent:  # another process may hold the other end of our stdin open
        time.sleep(LOOK)
    _end(settings["log"])


def _until_end(stdin: TextIO, log: str) -> None:
    stdin.read()
    _end(log)


def _end(log: str) -> None:
    """At once: nothing that the server holds is worth waiting for."""
    with suppress(OSError):  # where an open file cannot be removed, the program does it
        os.unlink(log)
    os._exit(0)


if __name__ == "__main__":
    main()
