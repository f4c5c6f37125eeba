"""Every request and its reply, kept: to pay for nothing twice, and to test a program without a network."""

from .errors import RecordingError, UnknownRequest
from .lm import RecordLM
from .replay import ReplayLM
from .store import Recording

__all__ = ["RecordLM", "Recording", "RecordingError", "ReplayLM", "UnknownRequest"]
