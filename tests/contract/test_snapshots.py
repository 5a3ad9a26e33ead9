"""Snapshots: joined, taken apart, changed by hand, and what is refused.

That a batch goes on from one to the bit is in ``test_snapshot_points.py``.
"""

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
    assert_same,
    assert_undisturbed,
    draw_actions,
    make_batch,
    make_single,
    play,
    rows_at,
)


@pytest.fixture(params=CASES)
def case(request):
    """A kind of batch."""
    return request.param


@pytest.fixture
def played(case):
    """Two batches after the same steps."""
    pair = [make_batch(case, 4) for _ in range(2)]
    for env in pair:
        env.reset(seed=8)
        play(env, draw_actions(env, 5))
    return pair


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
    actions = draw_actions(envs, 12, seed=1)
    envs.set_state(states[1], rows=[3, 2, 1, 0])
    expected = play(envs, actions)
    envs.set_state(whole, rows=[7, 6, 5, 4])
    assert_same(play(envs, actions), expected)
    other = make_batch(case, 4, max_episode_steps=77)
    other.reset(seed=0)
    odd = VectorState(
        states[0].id, states[0].configuration, states[0].arrays, {"sets": [1]}
    )
    for bad, word in (
        ([], "at least one"),
        ([states[0], other.get_state()], "77"),
        ([states[0], 5], "VectorState"),
        ([states[0], odd], "shared"),
    ):
        with pytest.raises(InvalidStateError, match=word):
            VectorState.concatenate(bad)


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


# ---------------------------------------------------------------------- bad input


def bad_calls(envs, case):
    """Return errors, a word of each message, and a call that raises it."""
    state = envs.get_state()
    other_mode = make_batch(case, 4, autoreset_mode=DISABLED)
    longer = make_batch(case, 4, max_episode_steps=77)
    other = make_batch(CASES[CASES.index(case) - 1], 4)
    for env in (other_mode, longer, other):
        env.reset(seed=0)
    never_reset, closed = make_batch(case, 4), make_batch(case, 4)
    closed.reset(seed=0)
    closed.close()
    partial = np.array([True, False, False, False])
    set_state = envs.set_state
    wrong = [
        VectorState(
            state.id,
            state.configuration,
            {**state.arrays, name: array[:-1]},
            state.shared,
            allow_pickle=True,
        )
        for name, array in state.arrays.items()
    ]
    options = [
        ("mask", {"mask": [1, 0, 0, 0]}),
        ("mask", {"mask": partial[:3]}),
        *(
            ("rows", {"rows": rows})
            for rows in ([0, 1, 2], [0, 1, 2, 4], [0, 1, 2, -1], [0.0, 1, 2, 3], 5)
        ),
    ]
    return [
        (InvalidStateError, "VectorState", lambda: set_state({"a": 1})),
        (InvalidStateError, "autoreset", lambda: set_state(other_mode.get_state())),
        (InvalidStateError, "77", lambda: set_state(longer.get_state())),
        (InvalidStateError, other.spec.id, lambda: other.set_state(state)),
        *(
            (InvalidOptionError, word, lambda given=given: set_state(state, **given))
            for word, given in options
        ),
        (InvalidOptionError, "rows", lambda: set_state(state.take([0, 1, 2]))),
        (InvalidOptionError, "rows", lambda: state.take([4])),
        (ClosedError, "closed", closed.get_state),
        (ClosedError, "closed", lambda: closed.set_state(state)),
        (ResetNeededError, "reset", never_reset.get_state),
        (
            ResetNeededError,
            r"\[1, 2, 3\]",
            lambda: never_reset.set_state(state, mask=partial),
        ),
        *(
            (InvalidStateError, name, lambda cut=cut: set_state(cut))
            for name, cut in zip(state.arrays, wrong, strict=True)
        ),
    ]


def test_bad_input_is_refused_before_anything_moves(case, played):
    envs, twin = played
    for error, word, call in bad_calls(envs, case):
        with pytest.raises(error, match=word):
            call()
    for array in envs.get_state().arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array.copy()
    assert_undisturbed(envs, twin)


def test_a_later_version_is_refused(case, played, tmp_path, monkeypatch):
    state = played[0].get_state()
    header = {"id": state.id, "configuration": state.configuration, "shared": {}}
    write_npz(tmp_path / "later.npz", "snapshot", 99, header, state.arrays)
    with pytest.raises(InvalidFileError, match=r"later\.npz.*99.*reads version 1"):
        VectorState.load(tmp_path / "later.npz")
    pickled = pickle.dumps(state)
    monkeypatch.setattr("roll_vec.vector.state.STATE_VERSION", 2)
    with pytest.raises(InvalidStateError, match="version 2 of the format, got 1"):
        pickle.loads(pickled)


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
def test_a_changed_snapshot_is_checked_again(case, played):
    envs, twin = played
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


@pytest.mark.parametrize("case", ARRAY_CASES[:1])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seeds", "abc"), ("seeds", -4), ("players", 2.7), ("cells", 300)),
        *(("players", [1, 2]), ("elapsed_steps", None), ("colour", 1)),
    ],
)
def test_a_value_that_an_array_cannot_have_is_refused(played, name, value):
    with pytest.raises((InvalidStateError, InvalidSeedError), match=name[:4]):
        played[0].get_state().replace_row(1, {name: value})


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
