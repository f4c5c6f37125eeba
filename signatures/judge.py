"""What a judge of attempts is asked."""

import dspy


class Judge(dspy.Signature):
    """A task is being solved by acting in an environment. Judge how close this attempt has come.

    Say what is right and what is still wrong, going by what was observed. Give the score last.
    """

    search_path: str = dspy.InputField(desc="the actions taken so far, each with what was observed")
    judge_reasoning: str = dspy.OutputField(desc="two or three sentences")
    attempt_score: str = dspy.OutputField(desc="a number from 0 to 1, where 1 means solved")
