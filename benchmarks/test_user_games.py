"""Rules of users beside loops that are written by hand in numba."""

from __future__ import annotations

import pytest

from benchmarks.batches import draw_actions, make, steps
from benchmarks.conftest import OURS, Versus
from benchmarks.user_games import GAMES, by_hand

NUM_ENVS = 4096
BY_HAND = "numba by hand"


@pytest.mark.benchmark(group="rules of a user's {game}")
@pytest.mark.parametrize("side", [OURS, BY_HAND])
@pytest.mark.parametrize("game", GAMES)
def test_rules(versus: Versus, game: str, side: str) -> None:
    envs = make(f"bench/{game}-v0", NUM_ENVS, num_threads=1)
    if side == OURS:
        versus(*steps(envs, 16), close=envs.close)
        return
    step = by_hand(game, NUM_ENVS)
    plan = draw_actions(envs.unwrapped.single_action_space, 16, NUM_ENVS)
    for actions in (*plan, *plan, *plan, *plan, *plan, *plan):
        step(actions)

    def work() -> None:
        for actions in plan:
            step(actions)

    versus(work, plan.size)
