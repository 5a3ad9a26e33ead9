"""Snapshots: a batch that goes back to one repeats what followed it, to the bit."""

import copy
import functools
import pickle

import numpy as np
import pytest

from roll_vec import VectorState
from roll_vec.errors import (
    ClosedError,
    InvalidFileError,
    InvalidOptionError,
    InvalidSeedError,
    InvalidStateError,
    ResetNeededError,
    RollVecError,
)
from roll_vec.npz_files import write_npz
from tests.contract.cases import (
    ARRAY_AND_POOL,
    ARRAY_CASES,
    CASES,
    DISABLED,
    MODES,
    assert_same,
    assert_undisturbed,
    draw_actions,
    make_batch,
    make_single,
    play,
    rows_at,
    scale_steps,
    single_info,
)
from tests.thinning import one_in

SNAPSHOT_CASES = CASES
CONTINUATION = 12


@pytest.fixture(params=SNAPSHOT_CASES)
def case(request):
    """A kind of batch."""
    return request.param


def walk(env, actions, points, take):
    """Play all actions; return the results from each point on, and `take()` there."""
    results, snapshots = [], {}
    for t, batch in enumerate(actions):
        if t in points:
            snapshots[t] = take(env)
        results.append(play(env, [batch]))
    return results, snapshots


def continuation(env, actions, t):
    """Return the results of the actions from step t on."""
    return [play(env, [batch]) for batch in actions[t : t + CONTINUATION]]


@one_in(2, "mode, group_size", MODES, [1, 2])
def test_restore_and_replay_equals_the_undisturbed_run(
    case, mode, group_size, tmp_path
):
    envs = make_batch(case, 4, autoreset_mode=mode, group_size=group_size)
    twin = make_batch(case, 4, autoreset_mode=mode, group_size=group_size)
    rng = np.random.default_rng(len(case) + group_size)
    actions = draw_actions(envs, scale_steps(60) + CONTINUATION, seed=group_size)
    points = rng.choice(len(actions) - CONTINUATION, 12, replace=False).tolist()
    envs.reset(seed=5)
    twin.reset(seed=5)
    expected, _ = walk(twin, actions, (), None)
    results, snapshots = walk(envs, actions, points, lambda env: env.get_state())
    assert_same(results, expected)
    for j, t in enumerate(rng.permutation(points).tolist()):
        state = snapshots[t]
        if j % 3 == 0:
            state.save(tmp_path / "state.npz")
            state = VectorState.load(tmp_path / "state.npz", allow_pickle=True)
            assert state == snapshots[t]
        target = make_batch(case, 4, autoreset_mode=mode, group_size=group_size)
        target = envs if j % 3 else target
        target.set_state(state)
        wanted = expected[t : t + CONTINUATION]
        assert_same(continuation(target, actions, t), wanted)
    # Snapshots are not changed by what the batch does after them.
    envs.set_state(snapshots[points[0]])
    wanted = expected[points[0] : points[0] + CONTINUATION]
    assert_same(continuation(envs, actions, points[0]), wanted)


def test_the_observations_of_a_snapshot_are_returned(case):
    envs = make_batch(case, 4)
    envs.reset(seed=1)
    observations = play(envs, draw_actions(envs, 9))[-1][0]
    state = envs.get_state()
    play(envs, draw_actions(envs, 9, seed=1))
    assert_same(envs.set_state(state), observations)


@pytest.mark.parametrize("mode", MODES)
def test_rows_become_copies_in_a_batch_of_another_size(case, mode):
    envs, other = (make_batch(case, n, autoreset_mode=mode) for n in (3, 7))
    envs.reset(seed=2)
    play(envs, draw_actions(envs, scale_steps(40)))
    state = envs.get_state()
    rows = np.array([2, 0, 0, 1, 2, 2, 1])
    other.set_state(state, rows=rows)
    assert other.np_random_seed == tuple(envs.np_random_seed[row] for row in rows)
    actions = draw_actions(envs, CONTINUATION, seed=1)
    for batch in actions:
        one, many = play(envs, [batch]), play(other, [batch[rows]])
        for result, copies in zip(one, many, strict=True):
            for j in range(len(result) - 1):
                assert_same(rows_at(copies[j], np.arange(7)), rows_at(result[j], rows))
            for env_id, row in enumerate(rows):
                wanted = single_info(result[-1], row)
                assert_same(single_info(copies[-1], env_id), wanted)
    # Copies do not move together: they share nothing.
    other.set_state(state, rows=[0] * 7)
    play(other, draw_actions(other, 5, seed=7))
    envs.set_state(state.take([0, 0, 0]))
    envs.set_state(state, rows=[0, 1, 2])


def test_snapshots_become_one(case):
    envs = make_batch(case, 4)
    envs.reset(seed=2)
    states = []
    for batch in draw_actions(envs, 3):
        states.append(envs.get_state())
        play(envs, [batch])
    whole = VectorState.concatenate(states)
    assert (whole.num_envs, whole.digest) == (12, states[0].digest)
    for i, state in enumerate(states):
        part = whole.take(np.arange(4 * i, 4 * i + 4))
        assert_same(dict(part.arrays), dict(state.arrays))
    actions = draw_actions(envs, CONTINUATION, seed=1)
    envs.set_state(states[1], rows=[3, 2, 1, 0])
    expected = continuation(envs, actions, 0)
    envs.set_state(whole, rows=[7, 6, 5, 4])
    assert_same(continuation(envs, actions, 0), expected)
    other = make_batch(case, 4, max_episode_steps=77)
    other.reset(seed=0)
    for bad, word in (
        ([], "at least one"),
        ([states[0], other.get_state()], "77"),
        ([states[0], 5], "VectorState"),
    ):
        with pytest.raises(InvalidStateError, match=word):
            VectorState.concatenate(bad)
    odd = VectorState(
        states[0].id, states[0].configuration, states[0].arrays, {"sets": [1]}
    )
    with pytest.raises(InvalidStateError, match="shared"):
        VectorState.concatenate([states[0], odd])


def test_a_mask_leaves_the_others_as_they_are(case):
    envs, twin = make_batch(case, 4), make_batch(case, 4)
    for env in (envs, twin):
        env.reset(seed=4)
        play(env, draw_actions(env, 11))
    state = envs.get_state()
    actions = draw_actions(envs, 6, seed=3)
    play(envs, actions)
    play(twin, actions)
    mask = np.array([False, True, False, True])
    envs.set_state(state, mask=mask, rows=[0, 3, 0, 1])
    moved = make_batch(case, 4)
    moved.set_state(state, rows=[0, 3, 0, 1])
    for batch in draw_actions(envs, 4, seed=5):
        results = [play(env, [batch])[0] for env in (envs, twin, moved)]
        for env_id in range(4):
            wanted = results[2] if mask[env_id] else results[1]
            for part, expected in zip(results[0][:-1], wanted[:-1], strict=True):
                assert_same(rows_at(part, env_id), rows_at(expected, env_id))
            info = single_info(results[0][-1], env_id)
            assert_same(info, single_info(wanted[-1], env_id))


@pytest.mark.parametrize("case", ARRAY_CASES)
def test_a_row_is_a_single_environment_and_goes_back(case):
    envs = make_batch(case, 4, max_episode_steps=-1)
    envs.reset(seed=6)
    play(envs, draw_actions(envs, 7))
    state = envs.get_state()
    env = make_single(case, max_episode_steps=-1)
    env.reset(seed=0)
    batch = draw_actions(envs, 1, seed=2)[0]
    for env_id in range(4):
        get_state = env.get_wrapper_attr("get_state")
        env.get_wrapper_attr("set_state")(state.row(env_id))
        assert_same(get_state(), state.row(env_id) | {"has_ended": False})
        if state.arrays["has_ended"][env_id]:
            continue
        expected = env.step(batch[env_id])
        moved = state.replace_row(env_id, get_state())
        present = envs.set_state(moved)
        np.testing.assert_array_equal(rows_at(present, env_id), expected[0])
        envs.set_state(state)
        observations, rewards, *_ = envs.step(batch)
        np.testing.assert_array_equal(rows_at(observations, env_id), expected[0])
        assert rewards[env_id] == expected[1]
    assert envs.set_state(state) is not None


# ---------------------------------------------------------------------- bad input


def bad_calls(envs, case):
    """Yield the error, a word of its message, and a call that raises it."""
    state = envs.get_state()
    other_modes = make_batch(case, 4, autoreset_mode=DISABLED)
    never_reset, closed = make_batch(case, 4), make_batch(case, 4)
    closed.reset(seed=0)
    closed.close()
    longer = make_batch(case, 4, max_episode_steps=77)
    for env in (other_modes, longer):
        env.reset(seed=0)
    partial = np.array([True, False, False, False])
    set_state = envs.set_state
    yield InvalidStateError, "VectorState", lambda: set_state({"a": 1})
    yield (
        InvalidStateError,
        "autoreset_mode",
        lambda: set_state(other_modes.get_state()),
    )
    yield InvalidStateError, "77", lambda: set_state(longer.get_state())
    yield InvalidOptionError, "mask", lambda: set_state(state, mask=[1, 0, 0, 0])
    yield InvalidOptionError, "mask", lambda: set_state(state, mask=partial[:3])
    yield InvalidOptionError, "rows", lambda: set_state(state, rows=[0, 1, 2])
    yield InvalidOptionError, "rows", lambda: set_state(state, rows=[0, 1, 2, 4])
    yield InvalidOptionError, "rows", lambda: set_state(state, rows=[0, 1, 2, -1])
    yield InvalidOptionError, "rows", lambda: set_state(state, rows=[0.0, 1, 2, 3])
    yield InvalidOptionError, "rows", lambda: set_state(state, rows=5)
    yield InvalidOptionError, "rows", lambda: set_state(state.take([0, 1, 2]))
    yield InvalidOptionError, "rows", lambda: state.take([4])
    yield ClosedError, "closed", closed.get_state
    yield ClosedError, "closed", lambda: closed.set_state(state)
    yield ResetNeededError, "reset", never_reset.get_state
    yield (
        ResetNeededError,
        r"\[1, 2, 3\]",
        lambda: never_reset.set_state(state, mask=partial),
    )
    for name, array in state.arrays.items():
        arrays = {**state.arrays, name: array[:-1]}
        wrong = VectorState(
            state.id, state.configuration, arrays, state.shared, allow_pickle=True
        )
        yield InvalidStateError, name, lambda wrong=wrong: set_state(wrong)


def test_bad_input_is_refused_before_anything_moves(case):
    envs, twin = make_batch(case, 4), make_batch(case, 4)
    for env in (envs, twin):
        env.reset(seed=8)
        play(env, draw_actions(env, 5))
    for error, word, call in bad_calls(envs, case):
        with pytest.raises(error, match=word):
            call()
    assert_undisturbed(envs, twin)


def test_a_file_of_another_environment_or_version_is_refused(case, tmp_path):
    envs = make_batch(case, 4)
    envs.reset(seed=8)
    state = copy.copy(envs.get_state())
    other = SNAPSHOT_CASES[SNAPSHOT_CASES.index(case) - 1]
    foreign = make_batch(other, 4)
    foreign.reset(seed=0)
    with pytest.raises(InvalidStateError, match=foreign.spec.id):
        foreign.set_state(state)
    header = {"id": state.id, "configuration": state.configuration, "shared": {}}
    write_npz(tmp_path / "later.npz", "snapshot", 99, header, state.arrays)
    with pytest.raises(InvalidFileError, match=r"later\.npz.*99.*reads version 1"):
        VectorState.load(tmp_path / "later.npz")


def test_a_snapshot_is_read_only(case):
    envs = make_batch(case, 4)
    envs.reset(seed=8)
    for array in envs.get_state().arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array.copy()


# ------------------------------------------------------------- changed snapshots


def changed_copies(state):
    """Yield snapshots that somebody changed, by every way that leads to the arrays."""
    name = "positions" if "positions" in state.arrays else "players"
    for copied in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
        copied.arrays[name].flags.writeable = True
        copied.arrays[name][:] = 2_000_000_000
        yield copied
    own = {key: array.copy() for key, array in state.arrays.items()}
    later = VectorState(state.id, state.configuration, own, state.shared)
    own[name][:] = 2_000_000_000
    assert later == state
    own["positions"] = own[name]
    yield VectorState(state.id, state.configuration, own, state.shared)


@pytest.mark.parametrize("case", ARRAY_CASES)
def test_a_changed_snapshot_is_checked_again(case):
    envs, twin = make_batch(case, 4), make_batch(case, 4)
    for env in (envs, twin):
        env.reset(seed=8)
        play(env, draw_actions(env, 5))
    state = envs.get_state()
    for changed in changed_copies(state):
        with pytest.raises(InvalidStateError):
            envs.set_state(changed)
    with pytest.raises(TypeError):
        state.arrays["has_ended"] = state.arrays["has_ended"][:2]
    for name in ("arrays", "digest", "configuration", "id", "shared"):
        with pytest.raises(AttributeError):
            setattr(state, name, getattr(state, name))
    for shared in state.shared.values():
        shared[0].clear()
    for table in state.row(0).values():
        if isinstance(table, dict):
            table.clear()
    assert pickle.loads(pickle.dumps(state)) == copy.deepcopy(state) == state
    envs.set_state(state)
    assert_undisturbed(envs, twin)


def forged_states(state):
    """Yield snapshots with one array or table that no batch returns."""

    def forge(arrays, shared=state.shared):
        return VectorState(state.id, state.configuration, arrays, shared)

    for name, array in state.arrays.items():
        yield forge({key: own for key, own in state.arrays.items() if key != name})
        others = [array[:0], array[..., np.newaxis]]
        for dtype in ("i1", "i8", "u8", "f8", "S4", "U3", "M8[ns]", "V3"):
            others += [np.zeros(len(array), dtype)]
        others += [np.full(len(array), value) for value in (-1, 10**12, np.nan)]
        for other in others:
            yield forge({**state.arrays, name: other})
    for name, table in state.shared.items():
        for other in ([], None, 3, {"a": 1}, table * 2):
            yield forge(state.arrays, {**state.shared, name: other})


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_forged_arrays_are_no_foreign_errors(case, tmp_path):
    envs = make_batch(case, 4)
    envs.reset(seed=8)
    state, path = envs.get_state(), tmp_path / "state.npz"
    row, num_refused = state.row(1), 0
    calls = (
        lambda one: [one.row(i) for i in range(len(one))],
        lambda one: one.replace_row(0, row),
        lambda one: one.take([1]),
        lambda one: VectorState.concatenate([one, state]),
        lambda one: one == state,
        lambda one: (one.save(path), VectorState.load(path)),
        envs.set_state,
    )
    for forged in forged_states(state):
        for call in calls:
            try:
                call(forged)
            except RollVecError:
                num_refused += 1
    assert num_refused > 50


def test_a_snapshot_of_another_format_version_is_not_unpickled(case, monkeypatch):
    envs = make_batch(case, 4)
    envs.reset(seed=8)
    pickled = pickle.dumps(envs.get_state())
    monkeypatch.setattr("roll_vec.vector.state.STATE_VERSION", 2)
    with pytest.raises(InvalidStateError, match="version 2 of the format, got 1"):
        pickle.loads(pickled)


@pytest.mark.parametrize("case", ARRAY_CASES[:1])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seeds", "abc"),
        ("seeds", -4),
        ("players", 2.7),
        ("cells", 300),
        ("players", [1, 2]),
        ("elapsed_steps", None),
        ("colour", 1),
    ],
)
def test_a_value_that_an_array_cannot_have_is_refused(case, name, value):
    envs = make_batch(case, 4)
    envs.reset(seed=8)
    with pytest.raises((InvalidStateError, InvalidSeedError), match=name[:4]):
        envs.get_state().replace_row(1, {name: value})


def test_equal_content_is_equal_whatever_the_width_of_seeds():
    envs, twin = (make_batch(ARRAY_CASES[0], 2) for _ in range(2))
    envs.reset(seed=[3, 10**40])
    twin.reset(seed=[3, 4])
    assert envs.get_state().take([0]) == twin.get_state().take([0])
    assert envs.get_state() != twin.get_state()


DEEP = functools.reduce(lambda inner, _: {"a": inner}, range(400), {})


@pytest.mark.parametrize(
    "header",
    [
        *(None, [], {"id": "a"}, {"id": "a", "shared": 1}),
        {"id": "a", "configuration": DEEP, "shared": {}},
    ],
)
def test_a_file_with_another_header_is_refused(header, tmp_path):
    path = tmp_path / "odd.npz"
    write_npz(path, "snapshot", 1, header, {"has_ended": np.zeros(3, bool)})
    with pytest.raises(InvalidFileError, match=r"odd\.npz"):
        VectorState.load(path)
    for arrays in ({}, {"has_ended": np.array(True)}):
        with pytest.raises(InvalidStateError, match="arrays: expected at least one"):
            VectorState("a", {}, arrays)
