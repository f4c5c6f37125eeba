"""What a rater of single states is asked."""

import dspy


class Rate(dspy.Signature):
    """A solution is being built one step at a time. Judge whether the steps so far can still end in a full
    solution.

    Try to finish it, and look for a constraint that it breaks. Reason first, and give the rating last.
    """

    search_path: str = dspy.InputField(desc="the steps taken so far, in order")
    search_state: str = dspy.InputField(desc="where these steps have led")
    rating_reasoning: str = dspy.OutputField(desc="how it could go on, or what rules it out")
    thought_rating: str = dspy.OutputField(desc="the rating alone")
