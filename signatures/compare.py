"""What a judge of two states is asked."""

import dspy


class Compare(dspy.Signature):
    """A solution is being built one step at a time. Decide which of two candidates is more likely to succeed.

    The order in which they are shown means nothing. Weigh them first, then name one.
    """

    search_candidates: str = dspy.InputField(desc="the two candidates, numbered 1 and 2")
    rating_reasoning: str = dspy.OutputField(desc="what tells them apart")
    better_thought: str = dspy.OutputField(desc="1, 2 or tie, alone")
