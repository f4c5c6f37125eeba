"""The operations that a class may define, by the names of their methods."""

from __future__ import annotations

_WITH_OTHERS = """
lt le gt ge contains add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv ifloordiv
mod rmod imod divmod rdivmod pow rpow ipow matmul rmatmul and rand iand or ror ior xor rxor ixor lshift rshift
"""
_ALONE = """
eq ne hash bool len iter next reversed getitem setitem delitem call str repr format neg pos abs invert int float complex
index round trunc floor ceil enter exit
"""
# What a value that derives from one of Python's own still leaves to its class.
_OF_DERIVED = "call str repr format enter exit"


# What may change whom it is asked of.
_CHANGING = """
iadd isub imul itruediv ifloordiv imod ipow iand ior ixor lshift rshift
"""


def _methods(names: str) -> frozenset[str]:
    return frozenset(f"__{name}__" for name in names.split())


WITH_OTHERS, OF_DERIVED, CHANGING = _methods(_WITH_OTHERS), _methods(_OF_DERIVED), _methods(_CHANGING)
OPERATIONS = WITH_OTHERS | _methods(_ALONE)
