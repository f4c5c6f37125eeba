"""One run: its pipes, what it is kept in, and the order in which its process gives things up."""

from __future__ import annotations

import os
import sys
import time

from . import call_filter, confine, family, linux, program, root_folder, spaces
from .channel import Channel
from .file_rules import FileRules
from .library import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from .examination import Examination
    from .order import Order

EXAMINERS = 1 << 24  # more than there are processes: tells their users apart


class Run:
    """One program's run. The launcher makes it, and its forks go on with a copy each.

    word: what the run's own lines begin with. alone: users that only this run's processes are, if there are such.
    examined: whether another process than the program's runs the checks.
    """

    def __init__(self, order: Order) -> None:
        self.word = os.urandom(16).hex()
        self._order = order
        self._out, self._errors, self._said = os.pipe(), os.pipe(), os.pipe()
        self._channel = Channel(self._said[1], self.word)
        self.examined = order["checks"] is None
        self._examination = _examination(self.word) if self.examined else None
        self._user: int | None = None
        self._examiner: int | None = None
        if os.geteuid() == 0:
            self._user, self._examiner = map(confine.own_user, (os.getpid(), os.getpid() + EXAMINERS))
        users = {self._user, self._examiner} if self.examined else {self._user}
        self.alone = tuple(user for user in users if user is not None and user >= confine.OWN_USERS)
        if len(self.alone) < len(users):
            self.alone = ()
        self._no_spaces = self._no_network = self._no_root = ""  # why not
        self._processes = order["processes"]
        self._folder = order["folder"]
        self._state: list[tuple[str, str, str]] = []

    def enter_spaces(self) -> None:
        self._no_spaces = self._unwanted("namespaces") or _refused(spaces.enter_processes)
        if self._user is None:  # all of a user's count: in a space of theirs ours, else all there are
            self._processes += family.threads_of_user(os.geteuid()) if self._no_spaces else 2
            self._processes += self.examined

    @property
    def apart(self) -> bool:
        """Has it a process namespace, and so a first process beside the program's?"""
        return not self._no_spaces

    @property
    def processes(self) -> int:
        """Of a run whose program starts none."""
        return 1 + self.apart + self.examined

    def listen(self) -> list[int]:
        """Closes the writing ends in this process; returns the reading ends."""
        pipes = [self._out, self._errors, self._said]
        if self._examination is not None:
            pipes.append(self._examination.said)
        self._leave_examination()
        for _, writing in pipes:
            os.close(writing)
        return [reading for reading, _ in pipes]

    def start(self) -> NoReturn:
        """In a fork of the launcher: runs the program, and does not come back."""
        if self._no_spaces:
            self._no_network = self._no_root = f"namespaces: {self._no_spaces}"
            self._program()
        linux.die_with_parent()
        os.setsid()
        self._no_network = _refused(spaces.enter_others)
        self._no_root = self._no_network or self._unwanted("root folder") or _refused(self._enter_root)
        beside = self.examine if self.examined else None
        ended: Callable[[int], None] = lambda status: self._channel.say("status", str(status))  # noqa: E731
        spaces.first_process(self._program, beside, self._leave_examination, ended)

    def _leave_examination(self) -> None:
        """Lets go of its files, so that each side sees the other's end."""
        if self._examination is not None:
            self._examination.leave()

    def examine(self) -> NoReturn:
        """In a fork that the program cannot reach: gives up what it can, and runs the checks."""
        examination = self._examination
        assert examination is not None
        try:
            linux.die_with_parent()
            checks = examination.read_checks()
            shared, self._user = self._user == self._examiner, self._examiner
            self._standard_files(b"", examination.of_examiner)
            self._confine(owns_folder=False)
            if shared:  # else the program's user may not look in here anyway
                linux.set_dumpable(False)
        except (OSError, RuntimeError) as error:
            examination.channel.say("unexamined", f"{type(error).__name__}: {error}")
            os._exit(1)
        _forget_modules()
        examination.examine(checks, self._order)

    def _enter_root(self) -> None:
        self._folder = root_folder.enter(self._order["folder"], self._order["paths"], self._order["files"])

    def _unwanted(self, protection: str) -> str:
        return "switched off" if protection in self._order["without"] else ""

    def _program(self) -> NoReturn:
        """The program's process: gives up all that it can, says what that was, and runs it."""
        try:
            examination = self._examination
            files = examination.of_program if examination is not None else ()
            self._standard_files(self._order["stdin"], (*files, self._channel.fd))
            self._confine()
        except (OSError, RuntimeError) as error:
            self._channel.say("fault", f"{type(error).__name__}: {error}")
            os._exit(1)
        _forget_modules()
        self._channel.say_all([*self._state, ("ready", repr(time.monotonic()))])
        program.run(self._order, self._channel, examination.answer_all if examination is not None else None)

    def _standard_files(self, text: bytes, files: tuple[int, ...]) -> None:
        """Standard input of `text`; the run's outputs; and no other open files but `files`."""
        os.setsid()
        given = bool(text)
        source = os.memfd_create("stdin") if text else os.open("/dev/null", os.O_RDONLY)
        while text:
            text = text[os.write(source, text) :]
        if given:
            os.lseek(source, 0, os.SEEK_SET)
        for fd, standard in ((source, 0), (self._out[1], 1), (self._errors[1], 2)):
            os.dup2(fd, standard)
        confine.keep_only(files)

    def _confine(self, owns_folder: bool = True) -> None:
        order = self._order
        os.chdir(self._folder)
        rules, no_rules = self._file_rules() if self._no_root else (None, "")
        sys.path += order["paths"]
        library = Library() if self._no_root and self._user is not None else None
        confine.limit(order, self._processes)
        if self._user is not None:
            if self._no_root and owns_folder:
                os.chown(".", self._user, self._user)
            confine.become(self._user)
        elif os.geteuid() == 0:
            raise RuntimeError("running as root, and there is no other user to become")
        os.environ.clear()
        linux.forbid_new_privileges()
        if rules is not None:
            rules.apply()
        linux.drop_capabilities()
        if self._no_spaces:
            linux.die_with_parent()
        if library is not None:
            library.find()
        self._tell(rules, no_rules, self._filter(rules))

    def _file_rules(self) -> tuple[FileRules | None, str]:
        if unwanted := self._unwanted("landlock"):
            return None, unwanted
        readable = root_folder.readable(self._order["paths"])
        try:
            return FileRules(readable, ".", list(root_folder.DEVICES)), ""
        except OSError as error:
            return None, str(error)

    def _filter(self, rules: FileRules | None) -> str:
        """Filters the calls; returns why not, if not."""
        if unwanted := self._unwanted("filter"):
            return unwanted
        try:
            call_filter.install(network=bool(self._no_network), signals=not self._keeps_signals(rules))
        except (OSError, ValueError) as error:
            return str(error)
        return ""

    def _keeps_signals(self, rules: FileRules | None) -> bool:
        """Do the program's signals, without a filter, reach its own processes alone?"""
        return self.apart or bool(self.alone) or (rules is not None and rules.signals)

    def _tell(self, rules: FileRules | None, no_rules: str, no_filter: str) -> None:
        """Writes down what the program is kept in, and what is lacking. RuntimeError if that must not be."""
        filtered = not no_filter
        user = "the host's" if self._user is None else str(self._user)
        self._is("user", f"{self._user}, of this run" if self.alone else f"{user}, unprivileged", "")
        self._is(
            "processes",
            "a namespace" if self.apart else "ended by a sweep" if filtered or self._keeps_signals(rules) else "",
            f"its signals reach the host's processes ({self._no_spaces}; filter: {no_filter})",
        )
        self._is(
            "network",
            "a namespace" if not self._no_network else "sockets refused" if filtered else "",
            f"not cut ({self._no_network}; filter: {no_filter})",
        )
        self._is(
            "files",
            "a root folder of its own" if not self._no_root else "Landlock" if rules is not None else "",
            f"not confined ({self._no_root}; Landlock: {no_rules})",
        )
        self._is("calls", "filtered" if filtered else "", f"not filtered ({no_filter})")
        lacking = [what for kind, what, _ in self._state if kind == "lacks"]
        if lacking and self._order["strict"]:
            raise RuntimeError(f"strict=True, and this system does not give: {', '.join(lacking)}")

    def _is(self, what: str, how: str, why_not: str) -> None:
        self._state.append(("is", what, how) if how else ("lacks", what, why_not))


def _examination(word: str) -> Examination:
    from .examination import Examination  # sent along only where there are checks

    return Examination(word)


def _forget_modules() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == __package__]:
        del sys.modules[name]


def _refused(protect: Callable[[], None]) -> str:
    """Why the system does not give this protection; "" if it does."""
    try:
        protect()
    except OSError as error:
        return str(error)
    return ""
