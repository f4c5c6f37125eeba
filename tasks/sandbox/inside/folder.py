"""The folder that a program worked in: what is in it, and its removal, whatever was made of it."""

from __future__ import annotations

import errno
import os

MOST_FILES = 4096  # folders counted


def overfull(folder: str, most: int) -> bool:
    """Does it hold more than `most` bytes, too many files, or folders too deep to look into?"""
    used, files, left = 0, 0, [folder]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    files += 1
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if files > MOST_FILES or used > most:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError as error:  # gone again
            if error.errno == errno.ENAMETOOLONG:
                return True
    return False


def remove(folder: str) -> None:
    """Removes it with all that it holds. OSError if that is not allowed.

    Folders inside folders are moved to the top first, so that no depth is too deep, and no path too long.
    """
    mark, number = os.urandom(8).hex(), 0
    while names := os.listdir(folder):
        for name in names:
            path = os.path.join(folder, name)
            if not _is_folder(path):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)  # a program may have closed it to its owner
            for inner in os.listdir(path):
                within = os.path.join(path, inner)
                if _is_folder(within):
                    os.chmod(within, 0o700)
                    os.rename(within, os.path.join(folder, f"{mark}{number}"))
                    number += 1
                else:
                    os.unlink(within)
            os.rmdir(path)
    os.rmdir(folder)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
