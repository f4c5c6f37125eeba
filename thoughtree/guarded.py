"""Whatever is wrong on the command line is said in one line, with an exit code."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from .early_interrupt import raised
from .exits import Exit
from .flags import ARGUMENTS, by_flags
from .mistake import Mistake
from .modules.recording import UnknownRequest
from .output import PipeClosed, say
from .search import JournalError


def guarded(work: Callable[[], Exit], options: Any = None) -> Exit:
    """What `work` returns, or the exit code of what is wrong, after saying it.

    options: a dataclass, whose fields the command line has as options.
    """
    names = [] if options is None else [field.name for field in fields(options) if field.name not in ARGUMENTS]
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a server that hangs up is no reader who has gone
    try:
        try:
            with raised():
                return work()
        except Mistake as mistake:
            say(str(mistake))
            return mistake.code
        except (ValueError, JournalError, ImportError) as error:  # ImportError: an extra that is not installed
            say(by_flags(str(error), names))
            return Exit.USAGE
        except UnknownRequest as unknown:
            say(str(unknown))
            return Exit.MODEL
        except OSError as error:
            say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            return Exit.USAGE
        except KeyboardInterrupt:
            say("interrupted")
            return Exit.INTERRUPTED
        except SystemExit as ended:  # whatever its code says, this command has no result
            say(f"code of the program's own has ended it: SystemExit({ended.code!r})")
            return Exit.USAGE
    except PipeClosed as closed:
        return closed.code
