"""Files of snapshots, and their values, that were changed."""

import numpy as np
import pytest

from roll_vec import VectorState
from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidFileError,
    InvalidStateError,
)
from tests.contract.cases import (
    ARRAY_AND_POOL,
    assert_same,
    assert_undisturbed,
    draw_actions,
    make_batch,
    play,
)


@pytest.fixture
def played(case):
    """Two batches after the same steps."""
    pair = [make_batch(case, 4) for _ in range(2)]
    for env in pair:
        env.reset(seed=8)
        play(env, draw_actions(env, 5))
    return pair


@pytest.mark.parametrize(
    "step", [17, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"]
)
@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_a_changed_byte_is_refused_or_harmless(played, step, tmp_path):
    envs, twin = played
    state, path = envs.get_state(), tmp_path / "state.npz"
    state.save(path)
    original = path.read_bytes()
    # The header is the first entry; samples of all that follows it.
    end_of_header = original.index(b"sha256.npy")
    rng = np.random.default_rng(0)
    samples = rng.integers(end_of_header, len(original), 1000 // step).tolist()
    num_refused = 0
    for position in [*range(0, end_of_header, step), *samples]:
        data = bytearray(original)
        data[position] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        try:
            changed = VectorState.load(path)
            envs.set_state(changed)
        except (InvalidFileError, InvalidStateError):
            num_refused += 1
            continue
        # A date, for instance: nothing that is read.
        assert changed == state
    assert num_refused > end_of_header // step // 2
    assert_undisturbed(envs, twin)


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_a_changed_value_is_refused_or_a_state(played):
    """Values whose file has a correct checksum: no crash, and no half of a state."""
    envs, twin = played
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
            changed = VectorState(
                state.id, state.configuration, arrays, state.shared, state.objects
            )
            try:
                envs.set_state(changed)
                play(envs, draw_actions(envs, 3, seed=4))
            except InvalidStateError:
                num_refused += 1
                assert_same(dict(envs.get_state().arrays), dict(before))
            except EnvironmentFaultError:
                # An environment's own `set_state` has refused its part.
                num_refused += 1
            envs.set_state(state)
    assert num_refused > 12
    assert_undisturbed(envs, twin)
