"""The launcher's way through one order. Its reply goes to standard output.

The reply is one line, of the reason for which the run was ended ("" if it ended by itself), its status as `wait` gives
it, its wall and CPU seconds, and how many bytes follow of output, of errors, and of what was said on the channel.

Up to four processes: this one, which watches and is out of the program's reach; the first process of the namespaces,
where there are any; the examiner's, where there are checks; and the program's. All are forks of this interpreter, so
that one start is paid and not four.
"""

from __future__ import annotations

import gc
import os
import sys

from . import family, folder, linux
from .run import Run
from .supervise import ABANDONED, Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from .order import Order


def main(order: Order) -> None:
    os.umask(0o022)  # the program is another user's, and reads what is made for it here, whatever the host's umask
    run = Run(order)
    linux.default_signal(linux.CHILD)
    linux.adopt_orphans()
    run.enter_spaces()
    gc.freeze()
    children = [_forked(run.examine)] if run.examined and not run.apart else []
    children.insert(0, _forked(run.start))
    streams = run.listen()
    linux.set_dumpable(False)
    supervisor = Supervisor(order, children, run.processes, streams, 1, run.word, lambda: family.end(run.alone))
    supervisor.watch()
    if supervisor.reason == ABANDONED:
        try:
            folder.remove(order["folder"])  # which the host can do no more
        except OSError:  # the host, on its way out, was quicker; or something in it stays
            os._exit(1)
    else:
        _reply(supervisor)
    os._exit(0)  # all is done; an interpreter's own end would take as long as the program


def _forked(work: Callable[[], NoReturn]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            sys.__excepthook__(type(error), error, error.__traceback__)
        finally:
            os._exit(1)
    return child


def _reply(supervisor: Supervisor) -> None:
    out, errors, *_ = supervisor.output
    parts = [bytes(out), bytes(errors), b"\n".join(supervisor.heard)]
    figures = [supervisor.status, supervisor.wall, supervisor.cpu, *map(len, parts)]
    reply = "\t".join([supervisor.reason, *map(str, figures)]).encode() + b"\n" + b"".join(parts)
    while reply:
        reply = reply[os.write(1, reply) :]
