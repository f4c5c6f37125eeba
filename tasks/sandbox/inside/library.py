"""Python's own library, for a user who may not enter the folders above it (a Python in root's home)."""

from __future__ import annotations

import os
import sys

from . import linux


class Library:
    """Made by a user who reaches it; `find` then serves one who does not. Holds a file open for each folder."""

    def __init__(self) -> None:
        self._open = {path: os.open(path, os.O_PATH) for path in sys.path if os.path.isdir(path)}

    def find(self) -> None:
        """From now on modules come through the open folders, if they come no other way."""
        if all(os.access(path, os.R_OK | os.X_OK) for path in self._open):
            for fd in self._open.values():
                os.close(fd)
            return
        linux.set_dumpable(True)  # else a process that changed its user may not read its own /proc entry
        sys.path[:] = [self._through(path) for path in sys.path]
        sys.path_importer_cache.clear()
        for module in list(sys.modules.values()):
            if "__path__" in getattr(module, "__dict__", {}):
                module.__path__ = [self._through(path) for path in module.__path__]

    def _through(self, path: str) -> str:
        for folder, fd in self._open.items():
            if path == folder or path.startswith(folder + "/"):
                return f"/proc/self/fd/{fd}{path[len(folder) :]}"
        return path
