"""A proxy on loopback that counts what really went over the wire."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Counting(ThreadingHTTPServer):
    """Hands each POST on to `target`, an address, and keeps its body."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.bodies = target, list[bytes]()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def served(self) -> int:
        return len(self.bodies)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Counting

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(body)
        kept = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
        request = urllib.request.Request(self.server.target + self.path, body, kept)
        try:
            with urllib.request.urlopen(request) as reply:
                status, said = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            status, said = error.code, error.read()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *said: object) -> None:
        pass


@contextmanager
def counting(target: str) -> Iterator[Counting]:
    server = Counting(target)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
