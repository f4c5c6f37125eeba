"""One llama.cpp server in a process of its own: started, waited for, and stopped with the program."""

from __future__ import annotations

import atexit
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SERVING = Path(__file__).with_name("local_serving.py")
PATIENCE = 300.0  # seconds in which a model must be loaded
PARTING = 5.0  # seconds that a server has to end in


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served, and how: equal ones share a server. context: tokens of one request and its reply."""

    path: str
    name: str
    threads: int
    slots: int
    context: int


class LocalServer:
    """address: of its OpenAI-compatible API. key: the one it takes. log: the file that holds what it says."""

    def __init__(self, serving: Serving) -> None:
        self.serving, self.key = serving, secrets.token_urlsafe(24)
        self._owner = os.getpid()
        descriptor, name = tempfile.mkstemp(prefix="thoughtree-local-", suffix=".log")
        self.log = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as noise:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", str(SERVING), json.dumps(asdict(serving) | {"log": name})],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=noise,
                    env={**os.environ, "THOUGHTREE_LOCAL_KEY": self.key},
                )
            self.address = f"{self._wait()}/v1"
        except RuntimeError:
            self._end()  # its log stays, for whoever reads the error
            raise
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> str:
        """The address, once it listens. RuntimeError, with the last line of its log, if it ends before."""
        assert self._process.stdout is not None
        late = threading.Timer(PATIENCE, self._process.kill)
        late.daemon = True
        late.start()
        try:
            line = self._process.stdout.readline()
        finally:
            late.cancel()
        if not line:
            self._process.wait()
            said = self.log.read_text(errors="replace").strip() or "it said nothing"
            raise RuntimeError(
                f"the server of {self.serving.path} ended before it was ready: {said.splitlines()[-1]} "
                f"(all that it said is in {self.log})"
            )
        address: str = json.loads(line)["address"]
        return address

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """End it, and remove its log. A process that was forked off leaves it to the one that started it."""
        if os.getpid() == self._owner:
            self._end()
            self.log.unlink(missing_ok=True)

    def _end(self) -> None:
        process: Any = getattr(self, "_process", None)
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            pipe.close()  # at which it ends
        try:
            process.wait(PARTING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_servers: dict[Serving, LocalServer] = {}
_lock = threading.Lock()


def server_of(serving: Serving) -> LocalServer:
    """The running server of this process that serves so, started if there is none."""
    with _lock:
        found = _servers.get(serving)
        if found is None or not found.running:
            if found is not None:
                found.stop()
            found = _servers[serving] = LocalServer(serving)
        return found


def stop_all() -> None:
    """Stop every server of this process; the next use starts another."""
    with _lock:
        while _servers:
            _servers.popitem()[1].stop()


atexit.register(stop_all)
