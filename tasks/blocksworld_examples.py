"""Three small problems of Blocksworld, of 2, 4 and 6 steps, as inputs of `Blocksworld`."""

from __future__ import annotations

from typing import Final

BLOCKSWORLD_EXAMPLES: Final[tuple[dict[str, str], ...]] = (
    {
        "initial": "ontable(amber), ontable(coral), on(jade,coral), clear(amber), clear(jade), handempty",
        "goal": "on(amber,jade)",
    },
    {
        "initial": "The coral block is on the table, the amber block is on top of the coral block, and the jade block "
        "is on the table. The hand is empty.",
        "goal": "the jade block is on top of the coral block, and the amber block is on the table",
    },
    {
        "initial": "(on amber coral) (on coral jade) (ontable jade) (clear amber) (handempty)",
        "goal": "(and (on jade coral) (on coral amber))",
    },
)
