"""A filter of system calls: those that reach past the limits, and, where no namespace does it, past the machine.

Numbers are those of the kernel's tables; from 424 on they are the same for every architecture.
"""

from __future__ import annotations

import os

from . import linux

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# name: number on x86_64, on aarch64
_ALWAYS = {
    # other file systems and namespaces: memory and processes that no limit counts
    "mount": (165, 40), "umount2": (166, 39), "unshare": (272, 97), "setns": (308, 268), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432), "mount_setattr": (442, 442),
    # memory outside the address space
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190),
    # other processes, and the kernel itself
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
}  # fmt: skip
_NETWORK = {"socket": (41, 198)}
_SIGNALS = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424),
}  # fmt: skip
_CLONE, _CLONE3 = (56, 220), (435, 435)
_NEW_NAMESPACES = 0x7E020000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # places in what a filter sees
_X32 = 0x40000000  # from here on, a second table of calls on x86_64

Instruction = tuple[int, int, int, int]  # operation, value, and how many to skip if it holds, if not

ALLOW: Instruction = (_RETURN, 0x7FFF0000, 0, 0)
REFUSE: Instruction = (_RETURN, 0x00050000 | 1, 0, 0)  # EPERM
UNKNOWN: Instruction = (_RETURN, 0x00050000 | 38, 0, 0)  # ENOSYS: the C library then does without


def install(network: bool, signals: bool) -> None:
    """Filters this process's calls, for good. network: refuse sockets. signals: none but to this very process.

    A refused call fails with EPERM. Needs `no new privileges`. OSError where the kernel has no filters; ValueError
    for an architecture whose numbers are not here.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        raise ValueError(f"no table of system calls for {machine}")
    architecture, column = _ARCHITECTURES[machine]
    refused = {**_ALWAYS, **(_NETWORK if network else {})}
    program: list[Instruction] = [
        (_LOAD, _ARCHITECTURE, 0, 0), (_EQUAL, architecture, 1, 0), REFUSE,
        (_LOAD, _NUMBER, 0, 0), (_AT_LEAST, _X32, 0, 1), REFUSE,
    ]  # fmt: skip
    for numbers in refused.values():
        program += _of_call(numbers[column], REFUSE)
    if signals:
        to_itself: Instruction = (_EQUAL, os.getpid(), 1, 0)
        for numbers in _SIGNALS.values():
            program += _of_call(numbers[column], (_LOAD, _FIRST_ARGUMENT, 0, 0), to_itself, REFUSE, ALLOW)
    new_namespaces: Instruction = (_ANY_BIT, _NEW_NAMESPACES, 0, 1)
    program += _of_call(_CLONE[column], (_LOAD, _FIRST_ARGUMENT, 0, 0), new_namespaces, REFUSE, ALLOW)
    program += _of_call(_CLONE3[column], UNKNOWN)  # its flags lie where no filter can read
    linux.filter_calls(b"".join(map(_encoded, [*program, ALLOW])))


def _of_call(number: int, *then: Instruction) -> list[Instruction]:
    """What is done for one call, and skipped for others. Ends the filter for it."""
    return [(_EQUAL, number, 0, len(then)), *then]


def _encoded(instruction: Instruction) -> bytes:
    operation, value, holds, fails = instruction
    return operation.to_bytes(2, "little") + bytes((holds, fails)) + value.to_bytes(4, "little")
