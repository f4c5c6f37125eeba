"""What a judge of planned steps is asked."""

import dspy


class Approve(dspy.Signature):
    """A plan is being made, one action at a time. Decide whether its latest action is a good step toward the goal.

    Reason in a sentence, then give the verdict.
    """

    search_path: str = dspy.InputField(desc="the actions planned so far, in order")
    search_state: str = dspy.InputField(desc="what is predicted to hold after them")
    step_reasoning: str = dspy.OutputField(desc="one sentence")
    step_verdict: str = dspy.OutputField(desc="one word: yes or no")
