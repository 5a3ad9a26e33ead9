"""The space of texts: what it contains, how it is batched, copied and sampled."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)

from roll_vec.spaces import UnicodeText


@pytest.fixture
def space():
    return UnicodeText(12, min_length=2, seed=3)


@pytest.mark.parametrize(
    "text",
    ["ab", "a b", "a\nb", "√√", "日本語", "👍🏽", "\0\0", "x" * 12, "\u202e\ud800"],
)
def test_contains_any_characters(space, text):
    assert text in space
    assert space.contains(text)


@pytest.mark.parametrize(
    "other", ["", "a", "x" * 13, None, 5, b"abc", ["ab"], ("a", "b"), np.array("abc")]
)
def test_contains_no_other_lengths_or_types(space, other):
    assert other not in space


def test_numpy_string_is_a_string(space):
    assert np.str_("abc") in space


def test_empty_texts_are_allowed_by_default():
    assert "" in UnicodeText(3)


@pytest.mark.parametrize(("longest", "shortest"), [(2, 3), (-1, 0), (1.5, 0), (3, -1)])
def test_impossible_lengths_are_refused(longest, shortest):
    with pytest.raises((AssertionError, ValueError, TypeError)):
        UnicodeText(longest, min_length=shortest)


def test_is_gymnasiums_text_for_those_who_ask(space):
    assert isinstance(space, spaces.Text)
    assert (space.min_length, space.max_length) == (2, 12)
    assert spaces.utils.is_space_dtype_shape_equiv(space, UnicodeText(12, min_length=2))


def test_equal_by_its_bounds(space):
    assert space == UnicodeText(12, min_length=2)
    assert space == UnicodeText(12, min_length=2, seed=99)
    assert space != UnicodeText(12)
    assert space != UnicodeText(13, min_length=2)
    assert space != spaces.Text(12, min_length=2)
    assert space != "UnicodeText(2, 12)"


def test_is_hashable_no_more_than_gymnasiums(space):
    with pytest.raises(TypeError, match="unhashable"):
        hash(space)


def test_repr_shows_the_bounds(space):
    assert repr(space) == "UnicodeText(2, 12)"


# ------------------------------------------------------------------- samples


def test_samples_are_contained_and_of_every_length(space):
    samples = [space.sample() for _ in range(300)]
    assert all(sample in space for sample in samples)
    assert {len(sample) for sample in samples} == set(range(2, 13))


def test_samples_depend_on_the_seed_alone():
    first, again, other = (UnicodeText(20, seed=seed) for seed in (1, 1, 2))
    drawn = [[space.sample() for _ in range(10)] for space in (first, again, other)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    first.seed(1)
    assert [first.sample() for _ in range(10)] == drawn[0]


def test_sample_mask_of_gymnasium_is_understood(space):
    assert len(space.sample(mask=(5, None))) == 5


# ------------------------------------------------------------------- copies


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("sampled", [False, True])
def test_copies_are_equal(space, duplicate, sampled):
    if sampled:
        space.sample()
    twin = duplicate(space)
    assert type(twin) is UnicodeText
    assert twin == space
    assert "√\n" in twin
    assert "" not in twin


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_go_on_in_the_same_stream_on_their_own(space, duplicate):
    space.sample()
    twin = duplicate(space)
    drawn = [twin.sample() for _ in range(5)]
    assert [space.sample() for _ in range(5)] == drawn


def test_deepcopy_keeps_what_is_one_generator_one():
    space = UnicodeText(9, seed=0)
    first, second = copy.deepcopy([space, space])
    assert first is second


# ------------------------------------------------------------------- batches


def test_batch_is_a_tuple_of_equals(space):
    batch = batch_space(space, 4)
    assert isinstance(batch, spaces.Tuple)
    assert len(batch) == 4
    assert all(one == space and type(one) is UnicodeText for one in batch)
    assert batch == batch_space(UnicodeText(12, min_length=2), 4)
    assert ("ab", "√\n", "cd", "ef") in batch
    assert ("ab", "", "cd", "ef") not in batch


def test_members_of_a_batch_draw_on_their_own(space):
    batch = batch_space(space, 3)
    batch.seed(0)
    first = [batch.sample() for _ in range(5)]
    assert len(set(first)) == 5
    assert all(len(set(texts)) == 3 for texts in first)
    batch.seed(0)
    assert [batch.sample() for _ in range(5)] == first
    assert all(texts in batch for texts in first)


def test_unseeded_batch_can_be_sampled(space):
    assert batch_space(space, 3).sample() in batch_space(space, 3)


def test_batch_leaves_the_space_alone(space):
    twin = copy.deepcopy(space)
    batch_space(space, 50).sample()
    assert space.sample() == twin.sample()


def test_batch_within_other_spaces(space):
    outer = spaces.Dict({"text": space, "number": spaces.Discrete(3)})
    batch = batch_space(outer, 2)
    assert batch["text"] == batch_space(space, 2)
    assert {"text": ("√√", "b\n"), "number": np.array([0, 2])} in batch


def test_gymnasiums_functions_of_batches_work(space):
    batch = batch_space(space, 2)
    texts = ("one", "two\n√")
    assert tuple(iterate(batch, texts)) == texts
    out = create_empty_array(space, n=2)
    assert data_equivalence(concatenate(space, texts, out), texts)
