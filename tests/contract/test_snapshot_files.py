"""Snapshots in files: continued in another process, and changed byte by byte."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from roll_vec import VectorState
from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidFileError,
    InvalidStateError,
)
from tests.conftest import JIT_OFF, ROOT
from tests.contract.cases import (
    ARRAY_AND_POOL,
    CASES,
    assert_same,
    assert_undisturbed,
    draw_actions,
    make_batch,
    play,
)

# In the new process the hashes of strings differ, and threads.
CONTINUE = """
import json, sys
from tests.contract.test_snapshot_files import digest_of_continuation
for case, path in json.load(sys.stdin):
    print(digest_of_continuation(case, path))
"""


def to_text(value):
    """Return a value as a text that shows every bit, dtype and key of it."""
    if isinstance(value, dict):
        items = sorted((key, to_text(item)) for key, item in value.items())
        return f"dict {items}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} {[to_text(item) for item in value]}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, np.ndarray):
        return f"objects {value.shape} {to_text(value.ravel().tolist())}"
    return f"{type(value).__name__} {value!r}"


def digest_of_continuation(case, path):
    """Return a digest of everything that follows the snapshot of a file."""
    envs = make_batch(case, 4)
    state = VectorState.load(path, allow_pickle=True)
    results = [envs.set_state(state), play(envs, draw_actions(envs, 25, seed=9))]
    return hashlib.sha256(to_text(results).encode()).hexdigest()


@pytest.mark.skipif(JIT_OFF, reason="children do not silence integers that wrap")
def test_a_new_process_continues_a_file(tmp_path):
    files, expected = [], []
    for i, case in enumerate(CASES):
        envs = make_batch(case, 4)
        envs.reset(seed=5)
        play(envs, draw_actions(envs, 15 + i))
        path = str(tmp_path / f"{i}.npz")
        envs.get_state().save(path)
        files.append((case, path))
        expected.append(digest_of_continuation(case, path))
    assert len(set(expected)) == len(expected)
    process = subprocess.run(
        [sys.executable, "-c", CONTINUE],
        input=json.dumps(files),
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1", "ROLL_VEC_NUM_THREADS": "3"},
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
        text=True,
    )
    assert process.stdout.split() == expected


@pytest.mark.parametrize(
    "step", [17, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"]
)
@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_a_changed_byte_is_refused_or_harmless(case, step, tmp_path):
    envs, twin = make_batch(case, 4), make_batch(case, 4)
    for env in (envs, twin):
        env.reset(seed=8)
        play(env, draw_actions(env, 5))
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
def test_a_changed_value_is_refused_or_a_state(case):
    """Values whose file has a correct checksum: no crash, and no half of a state."""
    envs, twin = make_batch(case, 4), make_batch(case, 4)
    for env in (envs, twin):
        env.reset(seed=8)
        play(env, draw_actions(env, 5))
    state = envs.get_state()
    before = state.arrays
    rng = np.random.default_rng(1)
    num_refused = 0
    for name in sorted(before):
        for _ in range(20):
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
    assert num_refused > 20
    assert_undisturbed(envs, twin)
