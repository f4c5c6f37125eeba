"""What a proposer is asked."""

import dspy


class Propose(dspy.Signature):
    """A solution is being built one step at a time. Say which steps could come next.

    Give as many alternatives as asked for. Each is a single concrete step that is allowed at this point and
    brings the solution closer. They must differ in substance, not in wording. If a step states the final
    answer, start it with "ANSWER:".
    """

    num_thoughts: str = dspy.InputField(desc="how many alternatives to give")
    search_path: str = dspy.InputField(desc="the steps taken so far, in order")
    search_state: str = dspy.InputField(desc="where these steps have led")
    next_thoughts: str = dspy.OutputField(desc="a numbered list with one step a line and nothing else")
