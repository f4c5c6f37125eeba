"""What is asked about a failed attempt."""

import dspy


class Reflect(dspy.Signature):
    """This attempt at the task failed. Find out why, so that the next one can avoid it.

    Name the one mistake that mattered and what to do differently. Do not write a solution.
    """

    search_path: str = dspy.InputField(desc="the actions taken, each with what was observed")
    attempt_feedback: str = dspy.InputField(desc="what the environment said about the failure")
    attempt_lesson: str = dspy.OutputField(desc="one or two sentences")
