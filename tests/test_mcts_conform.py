"""Monte-Carlo tree search under the one conformance suite."""

from typing import Any, ClassVar

from conformance import Conformance
from thoughtree.search import ABMCTS, MCTS, Ended, Proposed, SearchStatus, run
from worlds import Digits, search


class TestMCTS(Conformance):
    controllers: ClassVar[list[Any]] = [
        MCTS(rollouts=9, branching=3, max_depth=3),
        MCTS(rollouts=9, branching=3, max_depth=3, lazy=True, selection="puct"),
        MCTS(rollouts=6, branching=2, max_depth=4, simulate=True, returns="discounted", discount=0.9),
        # With several rollouts in flight the tree hangs on the order of replies: these are for any order, not for equal
        # trees.
        MCTS(rollouts=12, branching=2, max_depth=4, at_once=5, widening=0.6, patience=5),
        MCTS(rollouts=12, branching=3, max_depth=4, at_once=4, lazy=True, simulate=True, reroot=True),
        MCTS(rollouts=12, branching=None, max_depth=4, at_once=9, returns="max", final="visits"),
    ]

    def test_with_steps_asked_of_the_world_the_tree_is_that_of_code(self, controller: Any) -> None:
        if not controller.lazy:  # lazily, the world is asked later than code steps, so duplicates come to light later
            super().test_with_steps_asked_of_the_world_the_tree_is_that_of_code(controller)


class TestABMCTS(Conformance):
    controllers: ClassVar[list[Any]] = [
        ABMCTS(rollouts=12, max_depth=3),
        ABMCTS(rollouts=20),
        ABMCTS(rollouts=16, max_depth=2),
        ABMCTS(rollouts=16, max_depth=4, at_once=6),
    ]

    def test_the_root_is_never_its_own_child_and_depth_one_works(self, controller: Any) -> None:
        """At depth one, adaptive branching is repeated sampling: every rollout asks the root for one more."""
        s = search(ABMCTS(rollouts=5, max_depth=1), Digits(1))
        run(s, Digits(1).answer)
        assert {n.depth for n in s.tree} == {0, 1}
        assert s.by_role["propose"].calls == 5

    def test_an_empty_proposal_ends_it(self, controller: Any) -> None:
        """An empty sample says nothing of the next one, so each rollout asks again."""
        result = run(search(controller, Digits()), lambda request, tree: Proposed(()))
        assert (result.status, result.ended, len(result.tree)) == (SearchStatus.FAILED, Ended.ROLLOUTS, 1)
        assert result.spent.calls == controller.rollouts
