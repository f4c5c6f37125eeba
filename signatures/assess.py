"""What a rater with an anchored scale is asked."""

import dspy


class Assess(dspy.Signature):
    """A solution is being built one step at a time. Assess whether it can still be completed from here."""

    search_path: str = dspy.InputField(desc="the steps taken so far, in order")
    search_state: str = dspy.InputField(desc="where these steps have led")
    rating_reachable: str = dspy.OutputField(default="", desc="one word: yes, maybe or no")
    rating_evidence: str = dspy.OutputField(
        default="",
        desc="yes: a concrete way to finish; no: the constraint that rules it out; maybe: the best lead",
    )
    rating_score: str = dspy.OutputField(
        desc=(
            "a whole number: 0 to 2, a constraint is broken or the goal is out of reach; 3 or 4, no lead; "
            "5 or 6, a lead without a route; 7 or 8, a route with one step still open; "
            "9 or 10, a complete and correct solution"
        )
    )
