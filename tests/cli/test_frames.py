"""Frames and columns of a recorded run: digests notice every bit, columns keep it."""

import tracemalloc
import zlib

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from roll_vec.cli._columns import Column, TextTable, pack_texts, read_column, read_texts
from roll_vec.cli._frames import digest_frame, digest_rows, to_frame

NUM_ENVS = 5
SHAPES = [(np.bool_, ()), (np.float64, ()), (np.uint8, (3, 7)), (np.int64, (2,))]
SHAPES += [(np.dtype("U3"), ()), (np.float32, (0,)), (np.dtype("M8[s]"), ())]


def draw(rng, dtype, shape):
    """Return random bits, (NUM_ENVS, *shape); of bools and texts valid ones."""
    shape = (NUM_ENVS, *shape)
    numbers = rng.integers(0, 256, size=(*shape, np.dtype(dtype).itemsize))
    if np.dtype(dtype).kind in "bU":
        return numbers[..., 0].astype(np.uint8).astype(str).astype(dtype)
    return numbers.astype(np.uint8).view(dtype).reshape(shape)


@pytest.mark.parametrize(("dtype", "shape"), SHAPES)
def test_columns_are_read_back_to_the_bit(dtype, shape):
    rng = np.random.default_rng(0)
    column = Column(np.dtype(dtype), (NUM_ENVS, *shape))
    # More than a block, with gaps, and entries like the ones before.
    frames = [f for f in range(700) if f % 50]
    entries = {}
    entry = draw(rng, dtype, shape)
    for frame in frames:
        if rng.random() < 0.3:
            entry = draw(rng, dtype, shape)
        entries[frame] = entry.copy()
        column.append(frame, entry)
    result = [*read_column(*column.finish())]
    assert [frame for frame, _ in result] == frames
    for frame, value in result:
        assert (value.dtype, value.shape) == (entry.dtype, entry.shape)
        assert value.tobytes() == entries[frame].tobytes()


def test_columns_copy_their_entries():
    column = Column(np.dtype(np.int64), (2,))
    buffer = np.zeros(2, np.int64)
    for frame in range(3):
        buffer += 1
        column.append(frame, buffer)
    assert [entry.tolist() for _, entry in read_column(*column.finish())] == [
        [1, 1],
        [2, 2],
        [3, 3],
    ]


def test_a_block_of_another_size_is_refused_before_it_is_inflated():
    column = Column(np.dtype(np.uint8), (3,))
    column.append(0, np.zeros(3, np.uint8))
    description, data = column.finish()
    bomb = np.frombuffer(zlib.compress(bytes(50 << 20), 1), np.uint8)
    changes = [
        (description | {"sizes": [257]}, data),
        (description | {"sizes": [1 << 40]}, data),
        (description | {"shape": [1 << 40]}, data),
        (description | {"bytes": [len(bomb), 0]}, bomb),
    ]
    tracemalloc.start()
    for changed, changed_data in changes:
        with pytest.raises(ValueError, match=r"a block|expected \d+ bytes"):
            list(read_column(changed, changed_data))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_texts_that_overlap_are_refused():
    arrays = pack_texts([b"one", b"two"])
    for ends in ([6, 0, 6], [3, 7], [-1, 6]):
        with pytest.raises(ValueError, match="overlap"):
            read_texts({**arrays, "text_ends": np.array(ends)})


def test_texts_are_numbered_once_and_read_back():
    table = TextTable()
    numbers, size = table.number([b"one", b"", b"two", b"one"])
    assert (numbers.tolist(), size) == ([0, 1, 2, 0], 6)
    numbers, size = table.number([b"two", b"three"])
    assert (numbers.tolist(), size) == ([2, 3], 5)
    texts = [b"one", b"", b"two", b"three"]
    assert read_texts(table.finish()) == texts
    assert read_texts(pack_texts([])) == []


@pytest.mark.parametrize(("dtype", "shape"), SHAPES)
def test_digests_notice_each_byte(dtype, shape):
    rng = np.random.default_rng(1)
    rows = draw(rng, dtype, shape)
    frame = to_frame(Discrete(2), NUM_ENVS, {"observations": rows})
    whole = digest_frame(frame)
    digests = digest_rows(frame, "observations", NUM_ENVS)
    assert (digests.shape, digests.dtype) == ((NUM_ENVS,), np.uint32)
    for place in range(rows.nbytes):
        other = rows.copy()
        other.reshape(-1).view(np.uint8)[place] ^= 1
        changed = to_frame(Discrete(2), NUM_ENVS, {"observations": other})
        assert digest_frame(changed) != whole
        differs = digest_rows(changed, "observations", NUM_ENVS) != digests
        env_id = place * NUM_ENVS // rows.nbytes
        assert np.flatnonzero(differs).tolist() == [env_id]


def test_digests_of_rows_do_not_depend_on_the_batch():
    rng = np.random.default_rng(2)
    # Larger than the part that is hashed at once.
    rows = rng.integers(0, 256, (NUM_ENVS, 1_000_001)).astype(np.uint8)
    frame = to_frame(Discrete(2), NUM_ENVS, {"observations": rows})
    digests = digest_rows(frame, "observations", NUM_ENVS)
    assert len(set(digests.tolist())) == NUM_ENVS
    for env_id in range(NUM_ENVS):
        alone = to_frame(Discrete(2), 1, {"observations": rows[env_id : env_id + 1]})
        assert digest_rows(alone, "observations", 1) == digests[env_id]


def test_digests_are_the_same_in_every_version():
    # A file has them: another digest would be another version of the format.
    infos = {
        "more": {"words": np.array(["a", None], object)},
        "_more": np.ones(2, bool),
    }
    results = {"observations": ("x", "y"), "rewards": np.arange(2.0), "infos": infos}
    frame = to_frame(Discrete(2), 2, results)
    assert sorted(frame) == [
        ("infos", "_more"),
        ("infos", "more", "words"),
        ("observations",),
        ("rewards",),
    ]
    assert digest_frame(frame) == 971512124
    assert digest_rows(frame, "rewards", 2).tolist() == [0, 3676568406]
    assert digest_rows(frame, "infos", 2).tolist() == [4258722862, 3063193567]
