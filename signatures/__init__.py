"""What is asked: one signature a file, its docstring is the prompt."""

from .answer import Answer
from .assess import Assess
from .compare import Compare
from .propose import Propose
from .rate import Rate
from .rate_siblings import RateSiblings
from .vote import Vote

__all__ = ["Answer", "Assess", "Compare", "Propose", "Rate", "RateSiblings", "Vote"]
