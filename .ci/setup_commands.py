"""Print the README's set-up commands, one a line: `python .ci/setup_commands.py README.md`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```bash\n(.*?)\n```$", re.M | re.S)


def setup_commands(readme: str) -> list[str]:
    """The commands in the fenced `bash` blocks; a line that ends with a backslash goes on in the next."""
    return [block.replace("\\\n", " ") for block in BLOCK.findall(readme)]


if __name__ == "__main__":
    commands = setup_commands(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if len(commands) != 2 or any("\n" in command for command in commands):
        sys.exit(f"the README must have two set-up commands in bash blocks of their own, and has {commands}")
    print(*commands, sep="\n")
