"""What is asked: one signature a file, its docstring is the prompt."""

from .act import Act
from .answer import Answer
from .assess import Assess
from .compare import Compare
from .judge import Judge
from .propose import Propose
from .rate import Rate
from .rate_siblings import RateSiblings
from .reflect import Reflect
from .vote import Vote

__all__ = ["Act", "Answer", "Assess", "Compare", "Judge", "Propose", "Rate", "RateSiblings", "Reflect", "Vote"]
