"""What an actor in an environment is asked."""

import dspy


class Act(dspy.Signature):
    """A task is being solved by acting in an environment, one action at a time. Decide on the next action.

    Look at what the actions so far have led to, think briefly about what is still missing, then give exactly one
    action in the format that is asked for. Where lessons of earlier attempts are given, do not repeat those mistakes.
    """

    search_path: str = dspy.InputField(desc="the actions taken so far, each with what was observed")
    search_lessons: str = dspy.InputField(desc="what earlier attempts have taught")
    action_format: str = dspy.InputField(desc="how an action is written")
    act_reasoning: str = dspy.OutputField(desc="what is still missing, in a sentence or two")
    next_action: str = dspy.OutputField(desc="one action and nothing else")
