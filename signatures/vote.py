"""What a voter is asked."""

import dspy


class Vote(dspy.Signature):
    """A solution is being built one step at a time. Decide which of the candidates is the most likely to
    succeed.

    Weigh them against each other first, then name exactly one.
    """

    search_candidates: str = dspy.InputField(desc="the candidates, numbered")
    rating_reasoning: str = dspy.OutputField(desc="what speaks for and against them")
    best_thought: str = dspy.OutputField(desc="the number of the best candidate alone")
