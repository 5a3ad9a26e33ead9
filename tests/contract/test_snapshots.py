"""Snapshots: joined, taken apart, changed by hand, and what is refused.

That a batch goes on from one to the bit, whole, in parts and as another batch, is in
``test_scenarios.py``.
"""

import copy
import pickle

import numpy as np
import pytest

from roll_vec import VectorState, errors
from tests.contract import cases


@pytest.mark.parametrize("case", cases.ARRAY_CASES)
def test_a_row_is_a_single_environment(case):
    envs = cases.make_batch(case, 4, max_episode_steps=-1)
    envs.reset(seed=6)
    cases.play(envs, cases.draw_actions(envs, 7))
    state = envs.get_state()
    env = cases.make_single(case, max_episode_steps=-1)
    env.reset(seed=0)
    batch = cases.draw_actions(envs, 1, seed=2)[0]
    for env_id in range(4):
        get_state = env.get_wrapper_attr("get_state")
        env.get_wrapper_attr("set_state")(state.row(env_id))
        cases.assert_same(get_state(), state.row(env_id) | {"has_ended": False})
        if state.arrays["has_ended"][env_id]:
            continue
        expected = env.step(batch[env_id])
        envs.set_state(state)
        observations, rewards, *_ = envs.step(batch)
        np.testing.assert_array_equal(cases.rows_at(observations, env_id), expected[0])
        assert rewards[env_id] == expected[1]


@pytest.mark.parametrize("case", cases.ARRAY_AND_POOL)
def test_what_is_of_other_batches_is_refused_and_named(case, twins):
    envs, twin = twins
    state = envs.get_state()
    others = {
        "autoreset": cases.make_batch(case, 4, autoreset_mode=cases.DISABLED),
        "77": cases.make_batch(case, 4, max_episode_steps=77),
        "one of": cases.make_batch("tests_vector/Lamps-v0", 4),
    }
    for word, other in others.items():
        other.reset(seed=0)
        for batch, given in ((envs, other.get_state()), (other, state)):
            with pytest.raises(errors.InvalidStateError, match=word):
                batch.set_state(given)
    for rows in ([4], [-1], [0.5], 1):
        with pytest.raises(errors.InvalidOptionError, match="rows"):
            state.select_rows(rows)
    for rows in (range(3), [4] * 4, [-1] * 4, [0.0] * 4, 5):
        with pytest.raises(errors.InvalidOptionError, match="rows"):
            envs.set_state(state, rows=rows)
    with pytest.raises(errors.ResetNeededError):
        cases.make_batch(case, 4).set_state(state, mask=np.arange(4) < 2)
    with pytest.raises(errors.InvalidOptionError, match="rows"):
        envs.set_state(state.select_rows([0, 1, 2]))
    for bad, word in (
        ([], "at least one"),
        ([state, others["77"].get_state()], "77"),
        ([state, 5], "VectorState"),
    ):
        with pytest.raises(errors.InvalidStateError, match=word):
            VectorState.concatenate(bad)
    cases.assert_undisturbed(envs, twin)


@pytest.mark.parametrize("case", cases.ARRAY_CASES[:1])
@pytest.mark.parametrize("version", [1, 99])
def test_another_version_is_refused(version, twins, tmp_path, monkeypatch):
    state, path = twins[0].get_state(), tmp_path / "other.npz"
    with monkeypatch.context() as patch:
        patch.setattr("roll_vec.vector.vector_state.STATE_VERSION", version)
        state.save(path)
    words = rf"other\.npz.*{version}.*reads version 2.*roll_vec 0\.2\.0 reads version 1"
    with pytest.raises(errors.InvalidFileError, match=words):
        VectorState.load(path)


def changed_copies(state):
    """Yield snapshots that somebody changed, by every way that leads to the arrays."""
    name = "position" if "position" in state.arrays else "player"
    for copied in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
        copied.arrays[name].flags.writeable = True
        copied.arrays[name][:] = 2_000_000_000
        yield copied
    own = {key: array.copy() for key, array in state.arrays.items()}
    later = VectorState(state.id, state.configuration, own)
    own[name][:] = 2_000_000_000
    assert later == state
    own["position"] = own[name]
    yield VectorState(state.id, state.configuration, own)


@pytest.mark.parametrize("case", cases.ARRAY_CASES)
def test_a_changed_snapshot_is_checked_again(twins):
    envs, twin = twins
    state = envs.get_state()
    for changed in changed_copies(state):
        with pytest.raises(errors.InvalidStateError):
            envs.set_state(changed)
    for array in state.arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array.copy()
    with pytest.raises(TypeError):
        state.arrays["has_ended"] = state.arrays["has_ended"][:2]
    for name in ("arrays", "digest", "configuration", "id"):
        with pytest.raises(AttributeError):
            setattr(state, name, getattr(state, name))
    for table in state.row(0).values():
        if isinstance(table, dict):
            table.clear()
    assert pickle.loads(pickle.dumps(state)) == copy.deepcopy(state) == state
    envs.set_state(state)
    cases.assert_undisturbed(envs, twin)


def forged_states(state):
    """Yield the arrays of snapshots, one of which no batch returns."""
    for name, array in state.arrays.items():
        yield {key: own for key, own in state.arrays.items() if key != name}
        others = [array[:0], array[..., np.newaxis]]
        for dtype in ("i8", "S4", "V3"):
            others += [np.zeros(len(array), dtype)]
        others += [np.full(len(array), value) for value in (-1, 10**12, np.nan)]
        for other in others:
            yield {**state.arrays, name: other}


@pytest.mark.parametrize("case", cases.ARRAY_AND_POOL)
def test_forged_arrays_are_no_foreign_errors(case, tmp_path):
    envs = cases.make_batch(case, 4)
    envs.reset(seed=8)
    state, path = envs.get_state(), tmp_path / "state.npz"
    num_refused = 0
    calls = (
        lambda one: [one.row(i) for i in range(len(one))],
        lambda one: one.select_rows([1]),
        lambda one: VectorState.concatenate([one, state]),
        lambda one: one == state,
        lambda one: (one.save(path), VectorState.load(path)),
        envs.set_state,
    )
    for arrays in forged_states(state):
        try:
            forged = VectorState(state.id, state.configuration, arrays)
        except errors.InvalidStateError:
            num_refused += 1
            continue
        for call in calls:
            try:
                call(forged)
            except errors.RollVecError:
                num_refused += 1
    assert num_refused > 40


@pytest.mark.parametrize("case", cases.ARRAY_AND_POOL)
def test_a_changed_value_is_refused_or_a_state(twins):
    """Values whose file has a correct checksum: no crash, and no half of a state."""
    envs, twin = twins
    state = envs.get_state()
    before = state.arrays
    rng = np.random.default_rng(1)
    num_refused = 0
    for name in sorted(before):
        for _ in range(12):
            array = before[name].copy()
            data = array.view(np.uint8).reshape(-1)
            data[rng.integers(data.size)] ^= int(rng.integers(1, 256))
            arrays = {**before, name: array}
            try:
                changed = VectorState(state.id, state.configuration, arrays)
                envs.set_state(changed)
                cases.play(envs, cases.draw_actions(envs, 3, seed=4))
            except errors.InvalidStateError:
                num_refused += 1
                cases.assert_same(dict(envs.get_state().arrays), dict(before))
            except errors.EnvironmentFaultError:
                # An environment's own `set_state` has refused its part.
                num_refused += 1
            envs.set_state(state)
    assert num_refused > 12
    cases.assert_undisturbed(envs, twin)
