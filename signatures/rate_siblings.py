"""What a rater of several states at once is asked."""

import dspy


class RateSiblings(dspy.Signature):
    """A solution is being built one step at a time. Several candidates for it stand side by side.

    Judge of each whether it can still end in a full solution. Try to finish it, look for a constraint that it
    breaks, and compare it with the others. Reason first, then rate every candidate under its number.
    """

    search_candidates: str = dspy.InputField(desc="the candidates, numbered")
    rating_reasoning: str = dspy.OutputField(desc="for each candidate, how it could go on or what rules it out")
    thought_ratings: str = dspy.OutputField(desc="one line a candidate: its number, then its rating alone")
