"""UnicodeText: a text is refused, or a batch or a copy has other samples."""

import copy
import pickle

import gymnasium
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_differing_spaces, batch_space

import roll_vec  # noqa: F401  registers the ids
from roll_vec.spaces import UnicodeText


@pytest.fixture
def space():
    """Return a space of texts of 2 to 12 characters."""
    return UnicodeText(12, min_length=2, seed=3)


def test_samples_are_of_every_length_and_depend_on_the_seed_alone(space):
    samples = [space.sample() for _ in range(300)]
    assert all(sample in space for sample in samples)
    assert {len(sample) for sample in samples} == set(range(2, 13))
    assert [UnicodeText(12, seed=4).sample() for _ in range(300)] != samples
    for again in (UnicodeText(12, min_length=2, seed=3), space):
        again.seed(3)
        assert [again.sample() for _ in range(300)] == samples
    assert len(space.sample(mask=(5, None))) == 5


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("sampled", [False, True])
def test_copies_are_equal_and_continue_the_same_samples(space, duplicate, sampled):
    if sampled:
        space.sample()
    twin = duplicate(space)
    assert type(twin) is UnicodeText
    assert twin == space
    assert "√\n" in twin
    assert "" not in twin
    if sampled and duplicate is not copy.copy:
        samples = [twin.sample() for _ in range(5)]
        assert [space.sample() for _ in range(5)] == samples
    first, second = copy.deepcopy([space, space])
    assert first is second


def test_a_batch_is_a_tuple_of_equals_that_sample_independently(space):
    twin, batch = copy.deepcopy(space), batch_space(space, 4)
    assert isinstance(batch, spaces.Tuple)
    assert [type(one) for one in batch] == [UnicodeText] * 4
    assert batch.spaces == (space,) * 4
    assert batch == batch_space(UnicodeText(12, min_length=2), 4)
    assert ("ab", "√\n", "cd", "ef") in batch
    assert ("ab", "", "cd", "ef") not in batch
    assert batch.sample() in batch  # without a seed
    draws = []
    for _ in range(2):
        batch.seed(0)
        draws.append([batch.sample() for _ in range(5)])
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 5
    assert all(len(set(texts)) == 4 and texts in batch for texts in draws[0])
    # The space itself is left alone.
    assert space.sample() == twin.sample()


def test_a_batch_has_the_seeds_of_gymnasiums_batch_of_texts():
    draws = []
    for make in (spaces.Text, UnicodeText):
        first, second = make(12), make(9)
        first.seed(5), second.seed(6)
        batches = batch_space(first, 3), batch_differing_spaces([first, second])
        draws.append([one.np_random.random() for each in batches for one in each])
        draws[-1] += [each.np_random.random() for each in (*batches, first)]
    assert draws[0] == draws[1]


def test_shared_memory_and_flattening_are_refused():
    env_fns = [lambda: gymnasium.make("roll_vec/Countdown-v0")] * 2
    with pytest.raises(ValueError, match="shared_memory=False"):
        gymnasium.vector.AsyncVectorEnv(env_fns)
    space = spaces.Dict(text=UnicodeText(8), number=spaces.Discrete(3))
    with pytest.raises(NotImplementedError, match=r"UnicodeText\(0, 8\)"):
        spaces.flatten_space(space)
