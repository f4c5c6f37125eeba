"""Programs that nobody trusts, run within limits."""

from .interpreter import SandboxError, SandboxInterpreter
from .process import SandboxUnavailable
from .result import Check, Checked, Isolation, SandboxResult, Why
from .sandbox import Sandbox

__all__ = [
    "Check",
    "Checked",
    "Isolation",
    "Sandbox",
    "SandboxError",
    "SandboxInterpreter",
    "SandboxResult",
    "SandboxUnavailable",
    "Why",
]
