"""Steps of some environments: `step(actions, mask=)`, and `send` and `recv`.

That results which are received are those of steps is in ``test_snapshot_points.py``.
"""

import numpy as np
import pytest

from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    LevelGenerationError,
    PendingResultsError,
    ResetNeededError,
)
from tests.contract.cases import (
    ARRAY_AND_POOL,
    ARRAY_CASES,
    CASES,
    DISABLED,
    MODES,
    SAME_STEP,
    assert_same,
    assert_undisturbed,
    draw_actions,
    limit_of,
    lowest_action,
    make_batch,
    play,
    rows_at,
    scale_steps,
    single_info,
)
from tests.contract.custom_envs import Lamps

SOKOBAN = "roll_vec/Sokoban-v0"
NUM_ENVS = 5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_a_step_of_some_is_theirs_alone(case, mode):
    keywords = {"autoreset_mode": mode, "episode_info": True}
    env = make_batch(case, NUM_ENVS, **keywords)
    # Each takes the steps of one environment.
    ones = [make_batch(case, 1, **keywords) for _ in range(NUM_ENVS)]
    last, _ = env.reset(seed=3)
    for i, one in enumerate(ones):
        one.reset(seed=3 + i)
    ended, rng = np.zeros(NUM_ENVS, np.bool_), np.random.default_rng(4)
    for actions in draw_actions(env, scale_steps(40), seed=5):
        mask = (rng.random(NUM_ENVS) < 0.6) & ~ended
        observations, *arrays, infos = env.step(actions, mask=mask)
        for i, one in enumerate(ones):
            if not mask[i]:
                assert_same(rows_at(observations, [i]), rows_at(last, [i]))
                assert not any(array[i] for array in arrays)
                assert single_info(infos, i) == {}
                continue
            expected = one.step(actions[i : i + 1])
            assert_same(rows_at(observations, [i]), rows_at(expected[0], [0]))
            for array, wanted in zip(arrays, expected[1:4], strict=True):
                assert_same(array[i : i + 1], wanted)
            assert_same(single_info(infos, i), single_info(expected[4], 0))
            ended[i] = mode is DISABLED and (expected[2] | expected[3])[0]
        assert env.successes.tolist() == [bool(one.successes[0]) for one in ones]
        last = observations
        # Some of the ended environments are reset; the others stay in the way.
        mask = ended & (rng.random(NUM_ENVS) < 0.5)
        if mask.any():
            last, _ = env.reset(options={"reset_mask": mask})
            for i in np.flatnonzero(mask):
                ones[i].reset()
            ended &= ~mask


@pytest.mark.parametrize("case", CASES)
def test_actions_outside_the_mask_may_be_anything(case):
    env, twin = (make_batch(case, 3) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    good = lowest_action(env)
    mask = np.array([False, True, False])
    for first, last in ((99, -5), ("x", None), (np.nan, [1, 2]), (2**70, b"")):
        actions = [first, good, last]
        assert_same(env.step(actions, mask=mask), twin.step([good] * 3, mask=mask))
    everybody = np.ones(3, np.bool_)
    actions = draw_actions(env, 1)[0]
    assert_same(env.step(actions, mask=everybody), twin.step(actions))
    nobody = ~everybody
    _, *arrays, infos = env.step([good] * 3, mask=nobody)
    assert not any(array.any() for array in arrays)
    assert infos == {}


def test_integers_beside_ignored_actions_stay_pythons(monkeypatch):
    env = make_batch("tests_vector/Lamps-v0", 2)
    env.reset(seed=0)
    kinds = []
    step = Lamps.step
    monkeypatch.setattr(
        Lamps, "step", lambda self, action: kinds.append(type(action)) or step(self, 1)
    )
    env.step([1, None], mask=np.array([True, False]))
    env.step([1, 2], mask=np.array([True, False]))
    assert kinds == [int, int]


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
@pytest.mark.parametrize(
    "mask",
    [np.ones(3, np.bool_), [1, 0, 1, 0], "some", np.ones((4, 1), np.bool_), 3, True],
)
def test_a_mask_that_does_not_fit_is_refused_and_nothing_moves(case, mask):
    env, twin = (make_batch(case, 4) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(InvalidOptionError, match="mask: expected"):
        env.step([lowest_action(env)] * 4, mask=mask)
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_an_ended_environment_is_refused_inside_the_mask_alone(case):
    env = make_batch(case, 3, autoreset_mode=DISABLED, max_episode_steps=1)
    env.reset(seed=0)
    actions = [lowest_action(env)] * 3
    env.step(actions, mask=np.array([True, False, False]))
    with pytest.raises(ResetNeededError, match=r"environments \[0\] have ended"):
        env.step(actions, mask=np.array([True, True, False]))
    truncations = env.step(actions, mask=np.array([False, True, False]))[3]
    assert truncations.tolist() == [False, True, False]
    with pytest.raises(ResetNeededError, match=r"environments \[0, 1\] have ended"):
        env.step(actions)
    with pytest.raises(ResetNeededError, match=r"environments \[1\] have ended"):
        env.send(actions[:1], [1])


def test_an_environment_without_a_level_stays_among_the_ended():
    env = make_batch(SOKOBAN, 3, autoreset_mode=SAME_STEP)
    env.reset(seed=0)
    options = env.get_attr("solution_steps")[0]
    env.set_level_options(mask=np.arange(3) == 0, solution_steps=(900, 999))
    for _ in range(limit_of(SOKOBAN) - 1):
        env.step([0] * 3)
    with pytest.raises(LevelGenerationError):
        env.step([0] * 3, mask=np.arange(3) == 0)
    truncations = env.step([0] * 3, mask=np.arange(3) > 0)[3]
    assert truncations.tolist() == [False, True, True]
    with pytest.raises(ResetNeededError, match=r"environments \[0\] have ended"):
        env.step([0] * 3)
    # And goes on when there is one.
    env.set_level_options(solution_steps=options)
    env.reset(options={"reset_mask": np.arange(3) == 0})
    truncations = [env.step([0] * 3)[3].tolist() for _ in range(limit_of(SOKOBAN))]
    assert truncations == [[False] * 3] * (len(truncations) - 1) + [[True] * 3]


@pytest.mark.parametrize("case", ARRAY_CASES)
def test_bad_calls_of_send_and_recv_move_nothing(case):
    env, twin = (make_batch(case, 4) for _ in range(2))
    good = lowest_action(env)
    with pytest.raises(ResetNeededError):
        env.send([good], [0])
    env.reset(seed=0)
    twin.reset(seed=0)
    bad = 3.5 if isinstance(good, str) else 99
    for actions, env_ids, error in (
        ([bad], [0], InvalidActionError),
        ([good, good], [0], InvalidActionError),
        ([good], [4], InvalidOptionError),
        ([good, good], [1, 1], InvalidOptionError),
        ([good], ["x"], InvalidOptionError),
    ):
        with pytest.raises(error):
            env.send(actions, env_ids)
    with pytest.raises(InvalidOptionError, match="min_envs: expected at least 1"):
        env.recv()
    env.send([good], [2])
    with pytest.raises(PendingResultsError, match=r"environments \[2\] have results"):
        env.send([good], [2])
    calls = {
        "step": lambda: env.step([good] * 4),
        "reset": env.reset,
        "get_state": env.get_state,
        "unroll": lambda: env.unroll([[good] * 4]),
    }
    for name, call in calls.items():
        with pytest.raises(PendingResultsError, match=f"{name}: 1 environments"):
            call()
    for timeout in (-1, "soon"):
        with pytest.raises(InvalidOptionError, match="timeout: expected"):
            env.recv(timeout=timeout)
    with pytest.raises(InvalidOptionError, match="min_envs: expected"):
        env.recv(2)
    mask = np.array([False, False, True, False])
    expected = twin.step([good] * 4, mask=mask)
    assert_same(env.recv()[0], rows_at(expected[0], mask))
    actions = draw_actions(env, 20)
    assert_same(play(env, actions), play(twin, actions))
