"""A file that is written whole or not at all: what stays as it was, and what is no file."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from thoughtree.search.whole_file import write_whole


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o666])
def test_who_may_read_a_file_stays_as_it_was(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "saved.json"
    path.touch()
    path.chmod(bits)
    write_whole(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", bits)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    write_whole(link, b"newer")
    assert (path.read_bytes(), mode(path), link.is_symlink()) == (b"newer", bits, True)


def test_of_a_new_file_the_umask_says_who_may_read_it(tmp_path: Path) -> None:
    (other := tmp_path / "other").touch()
    write_whole(path := tmp_path / "new", b"")
    assert mode(path) == mode(other)


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127])
def test_a_name_as_long_as_a_disk_allows(tmp_path: Path, name: str) -> None:
    write_whole(tmp_path / name, b"whole")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(name, b"whole")]


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_written_to_also_where_it_is_a_file(tmp_path: Path, name: str) -> None:
    """Replaced, the file would lose all that is printed afterwards."""
    code = (
        "from pathlib import Path; from thoughtree.search.whole_file import write_whole; "
        f"print('before', flush=True); write_whole(Path({name!r}), b'whole\\n'); print('after')"
    )
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    piped = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
    assert (tmp_path / "out").read_bytes() == piped == b"before\nwhole\nafter\n"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_an_error_names_the_path_that_was_given_whatever_is_wrong_with_its_folder(tmp_path: Path) -> None:
    for path, why in {
        tmp_path / "none" / "x": f"there is no folder {str(tmp_path / 'none')!r}",
        tmp_path / ("n" * 300) / "x": "File name too long",
        Path("/dev/fd/999999999"): "Bad file descriptor",
    }.items():
        with pytest.raises(OSError, match=re.escape(why)) as raised:
            write_whole(path, b"")
        assert raised.value.filename == str(path)
