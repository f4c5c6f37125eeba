"""The options that say which program is meant: shared by all commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from .declaring import BUDGET, MODEL, PROBLEM, SEARCH, ceiling, count, knob, option


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """Which program, with which knobs, and who answers it; None: not said."""

    # Problem
    task: Annotated[
        Literal["game24", "blocksworld", "programming", "crosswords", "text"] | None,
        option(
            PROBLEM,
            "What code knows of the problem. Default: game24. blocksworld: initial, goal. programming: problem, tests. "
            "crosswords: clues. text: nothing; a question in plain words.",
        ),
    ] = None
    target: Annotated[str | None, option(PROBLEM, "What the numbers of a game24 make. Default: 24.", metavar="N")] = (
        None
    )
    strict: Annotated[
        bool | None,
        option(PROBLEM, "Moves of a game24 that state a wrong result are illegal, not repaired.", "--strict"),
    ] = None
    program: Annotated[
        str | None,
        option(
            PROBLEM,
            "A TreeOfThoughts, LATS or RAP of your own, from the current folder, or a function that makes one.",
            metavar="MODULE:NAME",
        ),
    ] = None
    load: Annotated[
        Path | None, option(PROBLEM, "A saved program, or with --program its saved state.", metavar="FILE")
    ] = None

    # Model
    model: Annotated[
        str | None,
        option(
            MODEL,
            "As DSPy names it: openai/gpt-4o-mini, ollama_chat/llama3.2, ... Keys come from the environment. "
            "local, local/smollm2-135m or local:FILE.gguf runs a small one here. Without it a rule-based stand-in "
            "plays game24 and blocksworld.",
            metavar="NAME",
        ),
    ] = None
    rate_model: Annotated[str | None, option(MODEL, "Another model for the ratings.", metavar="NAME")] = None
    api_base: Annotated[str | None, option(MODEL, "Address of the models' server.", metavar="URL")] = None
    temperature: Annotated[float | None, option(MODEL, "Sampling temperature of the models.", metavar="X", min=0)] = (
        None
    )

    # Search
    controller: Annotated[
        Literal["dfs", "beam", "bfs", "best-first", "mcts", "ab-mcts"] | None,
        option(
            SEARCH,
            "In which order. Default: beam, which is what bfs means too; mcts for blocksworld and programming, dfs for "
            "crosswords.",
        ),
    ] = None
    propose: Annotated[
        Literal["lm", "samples", "choose", "moves"] | None,
        option(
            SEARCH,
            "Steps: several in one call (lm, the default), one a call, or the task's legal moves: some that the model "
            "chooses, or all.",
        ),
    ] = None
    rate: Annotated[
        Literal["value", "siblings", "vote", "pairs", "code"] | None,
        option(
            SEARCH,
            "Ratings: a call a node (value, the default), siblings, a vote, pairs, or the task's value.",
        ),
    ] = None
    scale: Annotated[
        Literal["verdict", "unit", "anchored"] | None,
        option(SEARCH, "sure, maybe, impossible (verdict, the default); 0 to 1 (unit); 0 to 10 (anchored)."),
    ] = None
    transition: Annotated[
        Literal["check", "replace"] | None,
        option(
            SEARCH,
            "blocksworld: the model predicts each step and the rules have the last word (check, the default), or the "
            "rules alone (replace).",
        ),
    ] = None
    samples: Annotated[int | None, option(SEARCH, "Ratings per node. Default: 1.", metavar="N", min=1)] = None
    concurrency: Annotated[int | None, option(SEARCH, "Calls in flight. Default: 8.", metavar="N", min=1)] = None
    seed: Annotated[int | None, option(SEARCH, "For ties and sampling. Default: 0.", metavar="N")] = None

    # Controller
    width: Annotated[str | None, count("--width", "beam: states kept per level.")] = None
    branching: Annotated[str | None, count("--branching", "Steps proposed per state.")] = None
    max_depth: Annotated[int | None, knob("Steps to the deepest state.", metavar="N", min=1)] = None
    keep: Annotated[str | None, count("--keep", "best-first: children kept per expansion.")] = None
    expansions: Annotated[str | None, count("--expansions", "best-first, dfs: states expanded at most.")] = None
    open: Annotated[int | None, knob("best-first: states expanded at once.", metavar="N", min=1)] = None
    lazy: Annotated[bool | None, knob("dfs, mcts: rate a state only when its turn comes.")] = None
    threshold: Annotated[float | None, knob("dfs: drop states valued under this.", metavar="X")] = None
    prune_below: Annotated[float | None, knob("best-first: drop states valued under this.", metavar="X")] = None
    min_score: Annotated[float | None, knob("beam: drop states valued under this.", metavar="X")] = None
    solved_threshold: Annotated[float | None, knob("beam: end with a level that reaches it.", metavar="X")] = None
    depth_bonus: Annotated[float | None, knob("best-first: added to a value per level.", metavar="X")] = None
    normalise: Annotated[bool | None, knob("best-first: compare values with their level's mean.")] = None
    select: Annotated[Literal["top", "sample"] | None, knob("beam: how states are kept.")] = None
    stop: Annotated[Literal["level", "first"] | None, knob("beam: when a goal ends the search.")] = None
    best: Annotated[Literal["deepest", "seen"] | None, knob("beam, best-first: what is given unsolved.")] = None
    rollouts: Annotated[int | None, knob("mcts, ab-mcts: how often it goes down the tree.", metavar="N", min=0)] = None
    exploration: Annotated[float | None, knob("mcts: the weight of what is little visited.", metavar="X")] = None
    selection: Annotated[Literal["uct", "puct"] | None, knob("mcts: without or with the proposer's priors.")] = None
    returns: Annotated[Literal["mean", "max", "discounted"] | None, knob("mcts: what is backed up.")] = None
    discount: Annotated[float | None, knob("mcts: of discounted returns, per step.", metavar="X")] = None
    simulate: Annotated[bool | None, knob("mcts: go on from a new child to an end.")] = None
    widening: Annotated[float | None, knob("mcts: a child more while under visits to the power X.", metavar="X")] = None
    reroot: Annotated[bool | None, knob("mcts: propose again at the start once all is spent.")] = None
    final: Annotated[Literal["value", "visits", "mean"] | None, knob("mcts: by what the unsolved best is chosen.")] = (
        None
    )
    patience: Annotated[str | None, count("--patience", "mcts: rollouts without a better value, then it ends.")] = None
    at_once: Annotated[int | None, knob("mcts, ab-mcts: rollouts in flight.", metavar="N", min=1)] = None
    ties: Annotated[Literal["age", "seed", "deeper"] | None, knob("Which of equal values comes first.")] = None
    dedupe: Annotated[bool | None, knob("Drop steps and states that were met before.")] = None

    # Budget
    budget_calls: Annotated[int | None, option(BUDGET, "LM calls, retries included.", metavar="N", min=1)] = None
    budget_seconds: Annotated[float | None, ceiling(BUDGET, "Wall time.", metavar="S")] = None
    budget_cost: Annotated[float | None, ceiling(BUDGET, "Dollars.", metavar="X")] = None
    budget_tokens: Annotated[int | None, option(BUDGET, "Tokens in and out.", metavar="N", min=1)] = None
    budget_nodes: Annotated[int | None, option(BUDGET, "Nodes of the tree.", metavar="N", min=1)] = None
