"""What a world model is asked."""

import dspy


class Predict(dspy.Signature):
    """Stand in for the world: say what holds after the action, given what holds before it.

    If the action is not possible in this state, write ILLEGAL and why. Otherwise list every fact that holds
    afterwards, those that did not change among them, one a line, and nothing else.
    """

    search_state: str = dspy.InputField(desc="what holds now")
    search_action: str = dspy.InputField(desc="the action that is taken")
    next_state: str = dspy.OutputField(desc="all facts that hold afterwards, one a line; or ILLEGAL and why")
