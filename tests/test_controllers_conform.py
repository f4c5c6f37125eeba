"""The three controllers under the one conformance suite."""

from conformance import Conformance
from thoughtree.search import DFS, Beam, BestFirst


class TestDFS(Conformance):
    controllers = (
        DFS(),
        DFS(branching=None, max_depth=4, ties="seed"),
        DFS(threshold=0.0, expansions=6),
        DFS(lazy=True, branching=4, max_depth=4),
    )


class TestBeam(Conformance):
    controllers = (
        Beam(width=2, branching=4),
        Beam(width=None, branching=3, stop="first", ties="seed"),
        Beam(width=3, select="sample", min_score=0.5, best="seen"),
    )


class TestBestFirst(Conformance):
    controllers = (
        BestFirst(),
        BestFirst(branching=4, open=3, keep=None, normalise=True),
        BestFirst(expansions=6, depth_bonus=0.5, ties="seed", max_depth=4),
    )
