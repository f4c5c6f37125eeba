"""What the closing call is asked; its outputs are the user's own."""

import dspy


class Answer(dspy.Signature):
    """Answer the task. If steps toward a solution are given, base the answer on them."""

    search_path: str = dspy.InputField(desc="the steps taken so far, in order")
