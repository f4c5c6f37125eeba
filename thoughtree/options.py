"""The options of `thoughtree solve`: each declared once, with its help, and read by name and type."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

PROBLEM, MODEL, SEARCH, KNOBS = "Problem", "Model", "Search", "Knobs of the controller"
BUDGET, OUTPUT = "Budget (hard ceilings)", "Output"
ALL = "all"


def count_or_all(text: str) -> str:
    """A count, or "all" where a knob may be without one. Kept as text until a controller takes it."""
    if text != ALL and not (text.isascii() and text.isdigit() and int(text)):
        raise typer.BadParameter(f"{text!r} is neither a whole number of at least 1 nor {ALL!r}.")
    return text


def _count(name: str, help: str) -> Any:
    return typer.Option(name, metavar="N|all", parser=count_or_all, help=help, rich_help_panel=KNOBS)


def _option(panel: str, help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)


def _knob(help: str, **more: Any) -> Any:
    return _option(KNOBS, help, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for on the command line; None: not said."""

    # Problem
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM",
            help="The problem: the program's first input, such as '4 9 10 13'.",
            show_default=False,
        ),
    ] = None
    task: Annotated[
        Literal["game24", "blocksworld", "programming", "crosswords", "text"] | None,
        _option(
            PROBLEM,
            "What code knows of the problem. Default: game24. blocksworld: initial, goal. programming: problem, tests. "
            "crosswords: clues. text: nothing; a question in plain words.",
        ),
    ] = None
    target: Annotated[str | None, _option(PROBLEM, "What the numbers of a game24 make. Default: 24.", metavar="N")] = (
        None
    )
    strict: Annotated[
        bool | None,
        _option(PROBLEM, "Moves of a game24 that state a wrong result are illegal, not repaired.", "--strict"),
    ] = None
    program: Annotated[
        str | None,
        _option(
            PROBLEM,
            "A TreeOfThoughts, LATS or RAP of your own, from the current folder, or a function that makes one.",
            metavar="MODULE:NAME",
        ),
    ] = None
    load: Annotated[
        Path | None, _option(PROBLEM, "A saved program, or with --program its saved state.", metavar="FILE")
    ] = None
    input: Annotated[
        list[str] | None,
        _option(
            PROBLEM,
            "An input field by name; JSON where the field is no text. name=@file reads a file, name=@@text is @text. "
            "Repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None

    # Model
    model: Annotated[
        str | None,
        _option(
            MODEL,
            "As DSPy names it: openai/gpt-4o-mini, ollama_chat/llama3.2, ... Keys come from the environment. "
            "Without it a rule-based stand-in plays game24 and blocksworld.",
            metavar="NAME",
        ),
    ] = None
    rate_model: Annotated[str | None, _option(MODEL, "Another model for the ratings.", metavar="NAME")] = None
    api_base: Annotated[str | None, _option(MODEL, "Address of the models' server.", metavar="URL")] = None
    temperature: Annotated[float | None, _option(MODEL, "Sampling temperature of the models.", metavar="X")] = None

    # Search
    controller: Annotated[
        Literal["dfs", "beam", "bfs", "best-first", "mcts", "ab-mcts"] | None,
        _option(
            SEARCH,
            "In which order. Default: beam, which is what bfs means too; mcts for blocksworld and programming, dfs for "
            "crosswords.",
        ),
    ] = None
    propose: Annotated[
        Literal["lm", "samples", "moves"] | None,
        _option(SEARCH, "Steps: several in one call (lm, the default), one a call, or the task's legal moves."),
    ] = None
    rate: Annotated[
        Literal["value", "siblings", "vote", "pairs", "code"] | None,
        _option(
            SEARCH,
            "Ratings: a call a node (value, the default), siblings, a vote, pairs, or the task's value.",
        ),
    ] = None
    scale: Annotated[
        Literal["verdict", "unit", "anchored"] | None,
        _option(SEARCH, "sure, maybe, impossible (verdict, the default); 0 to 1 (unit); 0 to 10 (anchored)."),
    ] = None
    transition: Annotated[
        Literal["check", "replace"] | None,
        _option(
            SEARCH,
            "blocksworld: the model predicts each step and the rules have the last word (check, the default), or the "
            "rules alone (replace).",
        ),
    ] = None
    samples: Annotated[int | None, _option(SEARCH, "Ratings per node. Default: 1.", metavar="N", min=1)] = None
    concurrency: Annotated[int | None, _option(SEARCH, "Calls in flight. Default: 8.", metavar="N", min=1)] = None
    seed: Annotated[int | None, _option(SEARCH, "For ties and sampling. Default: 0.", metavar="N")] = None
    journal: Annotated[
        str | None,
        _option(
            SEARCH,
            "Write each reply here; a run that was killed and is repeated goes on from it. A folder, or a name that "
            "ends in /, gets a file a call.",
            metavar="FILE|FOLDER",
        ),
    ] = None
    fsync: Annotated[
        bool, _option(SEARCH, "Force each line of the journal to the disk: it survives a power cut too.", "--fsync")
    ] = False

    # Controller
    width: Annotated[str | None, _count("--width", "beam: states kept per level.")] = None
    branching: Annotated[str | None, _count("--branching", "Steps proposed per state.")] = None
    max_depth: Annotated[int | None, _knob("Steps to the deepest state.", metavar="N", min=1)] = None
    keep: Annotated[str | None, _count("--keep", "best-first: children kept per expansion.")] = None
    expansions: Annotated[str | None, _count("--expansions", "best-first, dfs: states expanded at most.")] = None
    open: Annotated[int | None, _knob("best-first: states expanded at once.", metavar="N", min=1)] = None
    lazy: Annotated[bool | None, _knob("dfs, mcts: rate a state only when its turn comes.")] = None
    threshold: Annotated[float | None, _knob("dfs: drop states valued under this.", metavar="X")] = None
    prune_below: Annotated[float | None, _knob("best-first: drop states valued under this.", metavar="X")] = None
    min_score: Annotated[float | None, _knob("beam: drop states valued under this.", metavar="X")] = None
    solved_threshold: Annotated[float | None, _knob("beam: end with a level that reaches it.", metavar="X")] = None
    depth_bonus: Annotated[float | None, _knob("best-first: added to a value per level.", metavar="X")] = None
    normalise: Annotated[bool | None, _knob("best-first: compare values with their level's mean.")] = None
    select: Annotated[Literal["top", "sample"] | None, _knob("beam: how states are kept.")] = None
    stop: Annotated[Literal["level", "first"] | None, _knob("beam: when a goal ends the search.")] = None
    best: Annotated[Literal["deepest", "seen"] | None, _knob("beam, best-first: what is given unsolved.")] = None
    rollouts: Annotated[int | None, _knob("mcts, ab-mcts: how often it goes down the tree.", metavar="N", min=1)] = None
    exploration: Annotated[float | None, _knob("mcts: the weight of what is little visited.", metavar="X")] = None
    selection: Annotated[Literal["uct", "puct"] | None, _knob("mcts: without or with the proposer's priors.")] = None
    returns: Annotated[Literal["mean", "max", "discounted"] | None, _knob("mcts: what is backed up.")] = None
    discount: Annotated[float | None, _knob("mcts: of discounted returns, per step.", metavar="X")] = None
    simulate: Annotated[bool | None, _knob("mcts: go on from a new child to an end.")] = None
    widening: Annotated[float | None, _knob("mcts: a child more while under visits to the power X.", metavar="X")] = (
        None
    )
    reroot: Annotated[bool | None, _knob("mcts: propose again at the start once all is spent.")] = None
    final: Annotated[Literal["value", "visits", "mean"] | None, _knob("mcts: by what the unsolved best is chosen.")] = (
        None
    )
    patience: Annotated[str | None, _count("--patience", "mcts: rollouts without a better value, then it ends.")] = None
    at_once: Annotated[int | None, _knob("mcts, ab-mcts: rollouts in flight.", metavar="N", min=1)] = None
    ties: Annotated[Literal["age", "seed", "deeper"] | None, _knob("Which of equal values comes first.")] = None
    dedupe: Annotated[bool | None, _knob("Drop steps and states that were met before.")] = None

    # Budget
    budget_calls: Annotated[int | None, _option(BUDGET, "LM calls, retries included.", metavar="N", min=1)] = None
    budget_seconds: Annotated[float | None, _option(BUDGET, "Wall time.", metavar="S")] = None
    budget_cost: Annotated[float | None, _option(BUDGET, "Dollars.", metavar="X")] = None
    budget_tokens: Annotated[int | None, _option(BUDGET, "Tokens in and out.", metavar="N", min=1)] = None
    budget_nodes: Annotated[int | None, _option(BUDGET, "Nodes of the tree.", metavar="N", min=1)] = None

    # Output
    json: Annotated[bool, _option(OUTPUT, "One JSON object on stdout.", "--json")] = False
    tree: Annotated[bool, _option(OUTPUT, "The tree, with values, statuses and reasons.", "--tree")] = False
    explain: Annotated[bool, _option(OUTPUT, "Why it went as it did, and what to change.", "--explain")] = False
    quiet: Annotated[bool, _option(OUTPUT, "The answer alone, and no progress.", "--quiet", "-q")] = False


def command(run: Callable[[Options], None]) -> Callable[..., None]:
    """`run` as a function whose parameters are the options: what typer makes a command of."""
    hints = get_type_hints(Options, include_extras=True)

    def called(**given: Any) -> None:
        run(Options(**given))

    parameters = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(Options)
    ]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {name: hints[name] for name in hints}
    called.__doc__ = run.__doc__
    return called
