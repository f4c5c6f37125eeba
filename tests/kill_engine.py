"""A language model in a process of its own: it answers by the prompt alone, and counts what it is asked.

Over a Unix socket, a line a call: {"run", "pid", "prompt"} there, the reply's text in JSON back. Who dies in between
has been counted all the same.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import random
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from engines import response
from thoughtree.prompts import input_values, output_names, prompt_text, written


def digest(prompt: str) -> str:
    """What a prompt is known by."""
    return sha256(prompt.encode()).hexdigest()[:16]


@dataclass
class Forwarding:
    """An engine, sync and async, that hands every prompt on to the model's process."""

    address: str
    run: int

    def __deepcopy__(self, memo: Any) -> Forwarding:
        return self

    def _line(self, request: Any) -> bytes:
        return json.dumps({"run": self.run, "pid": os.getpid(), "prompt": prompt_text(request)}).encode() + b"\n"

    def complete(self, request: Any) -> Any:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(self.address)
            line.sendall(self._line(request))
            with line.makefile("rb") as told:
                return response(json.loads(told.readline()), request.model)


class AsyncForwarding(Forwarding):
    async def complete(self, request: Any) -> Any:
        reader, writer = await asyncio.open_unix_connection(self.address)
        try:
            writer.write(self._line(request))
            return response(json.loads(await reader.readline()), request.model)
        finally:
            writer.close()


@dataclass
class Kill:
    """SIGKILL to run `run` at its call `at`: as it arrives, or as its reply is on the way."""

    run: int
    at: int
    answered: bool


def serve(
    server: socket.socket, control: socket.socket, reply: Callable[[Any, dict[str, str]], Any], seed: int
) -> None:
    """Answer until the other end of `control` is closed. There: {"kill": [run, at, answered]}; what was asked: {}."""
    rng, kill = random.Random(seed), Kill(-1, 0, False)
    asked: dict[int, list[str]] = {}  # by run, the prompts in order of arrival
    due: list[tuple[float, int, socket.socket, bytes, int, bool]] = []
    read = [server, control]
    while True:
        wait = max(0.0, due[0][0] - time.monotonic()) if due else None
        for ready in select.select(read, [], [], wait)[0]:
            if ready is server:
                read.append(server.accept()[0])
                continue
            text = _received(ready)
            if ready is control:
                if not text:
                    return
                order = json.loads(text)
                kill = Kill(*order["kill"]) if "kill" in order else kill
                control.sendall(json.dumps(asked).encode() + b"\n")
                continue
            read.remove(ready)
            if not text:
                ready.close()
                continue
            call = json.loads(text)
            asked.setdefault(call["run"], []).append(digest(call["prompt"]))
            hit = call["run"] == kill.run and len(asked[call["run"]]) == kill.at
            if hit and not kill.answered:
                os.kill(call["pid"], signal.SIGKILL)
            told = reply(output_names(call["prompt"]), input_values(call["prompt"]))
            line = json.dumps(told if isinstance(told, str) else written(told, call["prompt"])).encode() + b"\n"
            at = time.monotonic() + rng.uniform(0.0, 0.004)
            heapq.heappush(due, (at, len(asked[call["run"]]), ready, line, call["pid"], hit and kill.answered))
        while due and due[0][0] <= time.monotonic():
            _, _, there, line, pid, last = heapq.heappop(due)
            try:
                there.sendall(line)
            except OSError:  # it was killed meanwhile
                last = False
            there.close()
            if last:
                time.sleep(rng.uniform(0.0, 0.003))  # somewhere on its way into the journal
                os.kill(pid, signal.SIGKILL)


def _received(line: socket.socket) -> bytes:
    """One line; b"" where the other end is gone."""
    text = b""
    while not text.endswith(b"\n"):
        try:
            part = line.recv(65536)
        except OSError:
            part = b""
        if not part:
            return b""
        text += part
    return text
