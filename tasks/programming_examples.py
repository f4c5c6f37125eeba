"""Short programming problems of our own, with visible tests, hidden tests and a solution."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgrammingProblem:
    """problem, tests: what a search is given. hidden_tests: for the metric alone. program: one that passes them."""

    name: str
    problem: str
    tests: str
    hidden_tests: str
    program: str

    def inputs(self) -> dict[str, str]:
        return {"problem": self.problem, "tests": self.tests}


RUNS = ProgrammingProblem(
    "runs",
    "Write runs(text): the lengths of the runs of equal neighbouring letters in a text, from left to right.",
    'assert runs("aab") == [2, 1]\nassert runs("") == []',
    'assert runs("abba") == [1, 2, 1]\nassert runs("zzzz") == [4]\nassert runs("aA") == [1, 1]',
    """\
def runs(text):
    lengths = []
    for place, letter in enumerate(text):
        if place and letter == text[place - 1]:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths
""",
)

SEATS = ProgrammingProblem(
    "seats",
    "Write free_pairs(row): how many pairs of neighbouring free seats a row has. A row is text of '.' for a free seat"
    " and '#' for a taken one; a seat may be in two pairs.",
    ">>> free_pairs('..#.')\n1\n>>> free_pairs('...')\n2",
    "assert free_pairs('') == 0\nassert free_pairs('#') == 0\nassert free_pairs('.#.#.') == 0\n"
    "assert free_pairs('....') == 3",
    """\
def free_pairs(row):
    return sum(left == right == "." for left, right in zip(row, row[1:]))
""",
)

CLOCK = ProgrammingProblem(
    "clock",
    "Write minutes_between(start, end): the minutes from one time of day until the clock next shows the other. Times"
    " are text such as '09:30'; equal times are a whole day apart.",
    "assert minutes_between('09:30', '10:00') == 30\nassert minutes_between('23:50', '00:10') == 20",
    "assert minutes_between('12:00', '12:00') == 1440\nassert minutes_between('00:01', '00:00') == 1439\n"
    "assert minutes_between('00:00', '23:59') == 1439",
    """\
def minutes_between(start, end):
    first, last = (int(time[:2]) * 60 + int(time[3:]) for time in (start, end))
    return (last - first) % 1440 or 1440
""",
)

PROGRAMMING_EXAMPLES = (RUNS, SEATS, CLOCK)
