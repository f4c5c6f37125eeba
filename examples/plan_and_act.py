"""A plan is made in a predicted world, carried out in one where things slip, and made again where they did.

    python examples/plan_and_act.py
    python examples/plan_and_act.py "on(a,b), ontable(b), ontable(c)" "on(b,c), on(a,b)" --drop 0.5

Without `--model` a rule-based stand-in predicts and judges; `--model openai/gpt-4o-mini`, or any other name that DSPy
takes, asks that model. The rules of the world have the last word on every prediction.
"""

from __future__ import annotations

import argparse

import dspy

from thoughtree import MCTS, RAP, Blocksworld, execute
from thoughtree.offline import offline_lm
from thoughtree.tasks import BlocksworldEnvironment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("initial", nargs="?", default="on(red,blue), ontable(blue), ontable(green)")
    parser.add_argument("goal", nargs="?", default="on(blue,red), on(red,green)")
    parser.add_argument("--drop", type=float, default=0.3, help="how likely the gripper drops a block, 0 to 1")
    parser.add_argument("--seed", type=int, default=2, help="of what it drops")
    parser.add_argument("--model", help="as DSPy names it; without it a stand-in answers")
    asked = parser.parse_args()
    dspy.configure(lm=dspy.LM(asked.model) if asked.model else offline_lm())

    try:
        run(asked)
    except ValueError as error:  # an argument that is wrong
        parser.exit(2, f"{error}\n")


def run(asked: argparse.Namespace) -> None:
    controller = MCTS(rollouts=20, branching=None, max_depth=10)
    plan = RAP(task=Blocksworld(), propose="moves", transition="check", controller=controller, budget=300)
    world = BlocksworldEnvironment(drop=asked.drop, seed=asked.seed)
    done = execute(plan, world, inputs={"initial": asked.initial, "goal": asked.goal})

    for step in done.steps:
        print(f"{step.action}{'' if step.matched else '  <- not what was predicted'}")
    why = f" ({done.why})" if done.why else ""
    print(f"{done.status}{why}: {len(done.steps)} steps, {done.replans} plans made again")
    accuracy = [found.search.world_accuracy for found in done.plans]
    print("right predictions:", ", ".join("none checked" if share is None else f"{share:.0%}" for share in accuracy))


if __name__ == "__main__":
    main()
