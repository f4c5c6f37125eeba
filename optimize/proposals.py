"""What a worker asks its study for, beside what the sampler proposes of itself."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from .confirm import Rule
from .extra import needs
from .neighbours import neighbour
from .prompt_sets import PROMPTS
from .space import Space
from .trials import CHANGE, Setting, key_of

if TYPE_CHECKING:
    import optuna

DRAWS = 500  # at random without a new one, after which the space is taken to be used up
BEGIN = 10  # settings at the beginning that are all next to a good one
NEAR = 3  # later one of so many settings is the sampler's own


def ask_for_what_there_is(study: optuna.Study, space: Space, cap: int) -> None:
    """The program as it is, then other prompts with its knobs: they are what somebody found to be good with them.

    Of many prompts the first ones, in half of the `cap` trials. Two workers that both see nothing ask for all of it
    twice, and one is told so.
    """
    own = space.defaults()
    prompts = next((one.choices for one in space.dimensions if one.name == PROMPTS), ())
    others = [id for id in prompts if id != own[PROMPTS]]
    for values in (own, *({**own, PROMPTS: id} for id in others[: cap // 2])):
        study.enqueue_trial(space.params(values))


def is_a_neighbours_turn(done: int) -> bool:
    """The first ones share most of their calls with the default, and tell the sampler what is good; then all but every
    NEAR-th."""
    return done < BEGIN or done % NEAR != 0


def ask_for_a_neighbour(
    study: optuna.Study, space: Space, tried: Sequence[Setting], rule: Rule, order: Sequence[int], seed: int
) -> None:
    """Of a good one; nothing, where there is none."""
    found = neighbour(space, tried, rule, order, Random(f"{seed}|{len(tried)}"))
    if found is not None:
        change, values = found
        study.enqueue_trial(space.params(values), user_attrs={CHANGE: list(change)})


def ask_for_an_unseen_one(study: optuna.Study, space: Space, tried: Sequence[Setting], seed: int) -> bool:
    """At random; False: none is found, and the space is taken to be used up."""
    optuna = needs("optuna")
    known = {setting.key for setting in tried}
    seed += len(study.get_trials(deepcopy=False))
    draws = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    for _ in range(DRAWS):
        values = space.suggest(draws.ask())
        if key_of(values) not in known:
            study.enqueue_trial(space.params(values))
            return True
    return False
