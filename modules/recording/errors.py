"""What can go wrong with a recording."""

from __future__ import annotations

import dspy


class RecordingError(dspy.LMConfigurationError):
    """A recording that cannot be read or written, is damaged, or is something else.

    No retry and no other call would fare better, so a search ends at once (see `calls.failures`).
    """


class UnknownRequest(RecordingError):
    """A ReplayLM was asked what nobody has recorded. The message shows the nearest that was, and what differs.

    No model has failed here: a program whose search comes to it raises it, and gives no prediction (see `Phases.run`).
    """
