"""The events of a search, for an `on_search_event` of one of DSPy's callbacks."""

from .modules.events import (
    AnswerGiven,
    BudgetReached,
    CallFailed,
    GoalReached,
    LessonLearned,
    NodeAdded,
    NodesRated,
    Replied,
    ReplyUnread,
    SearchEnded,
    SearchEvent,
    SearchStarted,
    StepsProposed,
    StepTaken,
)

__all__ = [
    "AnswerGiven",
    "BudgetReached",
    "CallFailed",
    "GoalReached",
    "LessonLearned",
    "NodeAdded",
    "NodesRated",
    "Replied",
    "ReplyUnread",
    "SearchEnded",
    "SearchEvent",
    "SearchStarted",
    "StepTaken",
    "StepsProposed",
]
