"""What a chooser among the legal steps is asked."""

import dspy


class Choose(dspy.Signature):
    """A solution is being built one step at a time. All steps that are allowed at this point are listed. Choose those
    that bring the solution closer.

    Give the numbers of as many of them as asked for, the best first. Where lessons of earlier attempts are given, do
    not repeat those mistakes.
    """

    num_choices: str = dspy.InputField(desc="how many to choose")
    search_path: str = dspy.InputField(desc="the steps taken so far, in order")
    search_state: str = dspy.InputField(desc="where these steps have led")
    search_lessons: str = dspy.InputField(desc="what earlier attempts have taught")
    allowed_steps: str = dspy.InputField(desc="the steps to choose from, numbered")
    chosen_steps: str = dspy.OutputField(desc="their numbers alone, separated by commas, the best first")
