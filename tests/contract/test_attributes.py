"""Attributes of a batch: spec, limits, call and get_attr, rendering, final_obs."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import VectorEnv

import roll_vec
from roll_vec.errors import FrozenAttributeError, InvalidOptionError
from tests.contract import cases
from tests.gymnasium_versions import as_in_newest
from tests.thinning import one_in

NUM_ENVS = 3
# Ids as they are.
PLAIN = [*cases.ARRAY_IDS, *cases.POOLED_IDS, *cases.CUSTOM_IDS]


@pytest.fixture(params=cases.ARRAY_IDS)
def case(request):
    """An id whose batch is stacked in arrays."""
    return request.param


@pytest.fixture
def env(case):
    """A batch of the case, not reset yet."""
    return cases.make_batch(case, NUM_ENVS)


@pytest.mark.parametrize("case", cases.CASES)
def test_is_a_vector_env_with_a_name_and_metadata(case, env):
    # skrl.wrap_env looks at the direct bases alone.
    assert VectorEnv in type(env).__bases__
    expected = (
        roll_vec.PoolVectorEnv if cases.is_pooled(case) else roll_vec.RollVectorEnv
    )
    assert type(env) is expected
    assert env.unwrapped is env
    if not cases.is_pooled(case):
        assert env.get_attr("spec") == (env.spec,) * NUM_ENVS
        first, second, _ = env.np_random
        assert first.random() != second.random()
        env.reset(seed=0)
        assert env.render_mode is None
        assert env.render() is None
    assert repr(env) == f"{expected.__name__}({cases.id_of(case)}, num_envs={NUM_ENVS})"
    assert env.metadata["render_fps"] > 0
    modes = set(env.metadata["render_modes"])
    assert modes == {"human", "rgb_array", "ansi", "text"} or cases.is_pooled(case)
    assert "ansi" in modes
    assert "autoreset_mode" not in type(env).metadata
    if as_in_newest("SyncVectorEnv leaves the metadata of its environments alone"):
        assert "autoreset_mode" not in cases.make_single(case).metadata


@pytest.mark.parametrize("case", PLAIN)
def test_spec_rebuilds_the_batch(case):
    more = {"autoreset_mode": cases.SAME_STEP, "group_size": 3, "max_episode_steps": 5}
    if not cases.is_pooled(case):
        more["obs_mode"] = "text"
    small = {"num_products": 3} if "num_products" in cases.single_keywords(case) else {}
    more |= {**cases.explicit_action_start(case), **small}
    env = gymnasium.make_vec(f"roll_vec:{case}", num_envs=6, **more)
    assert env.spec.id == case
    again = gymnasium.make_vec(env.spec)
    assert again.num_envs == 6
    assert (again.autoreset_mode, again.group_size) == (cases.SAME_STEP, 3)
    assert again.spec == env.spec
    cases.assert_same(again.reset(seed=1), env.reset(seed=1))
    actions = cases.draw_actions(env, 20)
    cases.assert_same(cases.play(again, actions), cases.play(env, actions))
    from_json = gymnasium.envs.registration.EnvSpec.from_json(
        gymnasium.spec(case).to_json()
    )
    plain = gymnasium.make_vec(from_json, num_envs=2, disable_env_checker=True, **small)
    assert len(plain.reset(seed=0)[0]) == 2
    for batch in (env, again, plain):
        batch.close()


@pytest.mark.parametrize("case", [*cases.ARRAY_IDS, *cases.TEXTS, *cases.POOLS])
def test_get_attr_and_call_equal_those_of_sync(case, env):
    sync, twin = (
        cases.make_sync(case, NUM_ENVS, cases.NEXT_STEP),
        cases.make_batch(case, NUM_ENVS),
    )
    for batch in (sync, env, twin):
        batch.reset(seed=0)
    names = ["num_env_steps", "np_random_seed", "render_mode"]
    if not cases.is_pooled(case):
        for name in cases.single_keywords(case):
            values = env.get_attr(name)
            assert isinstance(values, tuple)
            assert len(values) == NUM_ENVS
            if name in cases.keywords(case):
                assert values[0] == cases.keywords(case)[name]
        names += [*env.engine.named_variables(), *env.engine.options.attributes]
        names += ["get_instructions", "get_all_actions"]
    else:
        assert env.get_attr("spec") == sync.get_attr("spec")
        again = gymnasium.make(env.get_attr("spec")[0])
        assert type(again.unwrapped) is type(env.envs[0].unwrapped)
        assert [one.action_space for one in env.envs] == [sync.single_action_space] * 3
        names += ["level_seed", "metadata"]
        if "Countdown" in case:
            names += ["nums", "target", "oracle_action", "get_instructions"]
            names += ["get_state"]
    for row in cases.draw_actions(env, 5):
        for name in names:
            expected = sync.call(name)
            cases.assert_same(env.call(name), expected)
            attribute = env.get_attr(name)
            if callable(attribute[0]):
                attribute = tuple(method() for method in attribute)
            cases.assert_same(attribute, expected)
        for batch in (sync, env, twin):
            batch.step(row)
    # What is read of arrays is no handle on the state.
    for name in names if not cases.is_pooled(case) else ():
        for value in env.call(name):
            if isinstance(value, np.ndarray):
                value[...] = value.flat[0]
            elif isinstance(value, (dict, list)):
                value.clear()
    actions = cases.draw_actions(env, 30)
    cases.assert_same(cases.play(env, actions), cases.play(twin, actions))
    for name in ("nothing", "_nothing"):
        with pytest.raises(AttributeError, match="nothing"):
            env.get_attr(name)


def test_attributes_that_cannot_be_read_or_set():
    env = roll_vec.make_vec("roll_vec/FrozenLake-v1", NUM_ENVS)
    for name in ("nothing", "reset", "_seed_state", "engine"):
        for call in (env.get_attr, env.call):
            with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
                call(name)
    for values in ("text", ["text"] * 3, ("text",) * 3):
        with pytest.raises(FrozenAttributeError, match=r"obs_mode .*obs_mode=\.\.\."):
            env.set_attr("obs_mode", values)
    with pytest.raises(InvalidOptionError, match=r"values: expected 3 .* got 2"):
        env.set_attr("obs_mode", ["text"] * 2)
    assert env.get_attr("obs_mode") == ("position",) * 3
    with pytest.raises(FrozenAttributeError, match="np_random cannot be set"):
        env.np_random = np.random.default_rng()
    assert issubclass(FrozenAttributeError, AttributeError)


@pytest.mark.parametrize("case", cases.SINGLES)
def test_successes_are_the_last_steps(case):
    env = cases.make_batch(
        case, 64, autoreset_mode=cases.SAME_STEP, max_episode_steps=50
    )
    env.reset(seed=0)
    seen = 0
    for row in cases.draw_actions(env, 75):
        _, rewards, *_, infos = env.step(row)
        told = [infos, infos.get("final_info", {})]
        told = [layout["success"] for layout in told if "success" in layout]
        expected = np.logical_or.reduce(told) if told else rewards > 0
        cases.assert_same(env.successes, expected)
        seen += expected.sum()
    assert seen


@one_in(2, "autoreset, case", [cases.NEXT_STEP, cases.SAME_STEP], cases.CASES)
def test_frames_equal_those_of_the_single_forms(case, autoreset):
    for mode in ("ansi",) if cases.is_pooled(case) else ("rgb_array", "ansi", "text"):
        env = cases.make_batch(
            case, NUM_ENVS, render_mode=mode, autoreset_mode=autoreset
        )
        sync = cases.make_sync(case, NUM_ENVS, autoreset, render_mode=mode)
        env.reset(seed=0)
        sync.reset(seed=0)
        for row in cases.draw_actions(env, 10):
            cases.assert_same(env.render(), sync.render())
            env.step(row)
            sync.step(row)
        frames = env.render()
        assert isinstance(frames, tuple)
        if mode == "rgb_array":
            for frame in env.render():
                frame[...] = 7  # the caller's
            cases.assert_same(env.render(), frames)
        cases.assert_same(env.render_envs([2, 0]), (frames[2], frames[0]))
        assert env.render_mode == mode


@pytest.mark.parametrize("case", cases.CASES)
def test_final_obs_is_what_the_step_led_to_and_new(case):
    same = cases.make_batch(case, NUM_ENVS, autoreset_mode=cases.SAME_STEP)
    plain = cases.make_batch(case, NUM_ENVS, autoreset_mode=cases.DISABLED)
    sync = cases.make_sync(case, NUM_ENVS, cases.SAME_STEP)
    for env in (same, plain, sync):
        env.reset(seed=0)
    ended = 0
    for row in cases.draw_actions(same, 25):
        observations, _, terminations, truncations, infos = same.step(row)
        expected, before = plain.step(row)[0], copy.deepcopy(observations)
        last = same.final_obs(observations, infos)
        cases.assert_same(last, expected)
        if isinstance(last, np.ndarray):
            assert not np.shares_memory(last, observations)
            last[:] = 0
        cases.assert_same(observations, before)
        cases.assert_same(roll_vec.final_obs(observations, infos), expected)
        observations, *_, infos = sync.step(row)
        cases.assert_same(roll_vec.final_obs(observations, infos), expected)
        finished = terminations | truncations
        if finished.any():
            ended += 1
            plain.reset(options={"reset_mask": finished})
    assert ended
    sync.close()


def test_final_obs_without_an_end_is_a_copy_and_texts_are_themselves():
    array, texts = np.arange(6).reshape(2, 3), ("a", "b")
    last = roll_vec.final_obs(array, {})
    assert last is not array
    cases.assert_same(last, array)
    assert roll_vec.final_obs(texts, {}) is texts
    infos = {"final_obs": np.array([None, "c"], object), "_final_obs": np.arange(2) > 0}
    assert roll_vec.final_obs(texts, infos) == ("a", "c")


@pytest.mark.parametrize("num_envs", [3, 5])
def test_final_obs_of_tuples_and_dicts_is_a_batch_of_the_space(num_envs):
    # Three numbers are an observation: as many as there are environments, once.
    id, ended = "roll_vec/Blackjack-v1", 0
    same = roll_vec.make_vec(id, num_envs, autoreset_mode=cases.SAME_STEP)
    plain = roll_vec.make_vec(id, num_envs, autoreset_mode=cases.DISABLED)
    same.reset(seed=0)
    plain.reset(seed=0)
    for row in cases.draw_actions(same, 12):
        observations, _, terminations, _, infos = same.step(row)
        expected, before = plain.step(row)[0], copy.deepcopy(observations)
        last = same.final_obs(observations, infos)
        cases.assert_same(last, expected)
        as_dict, keys = dict(zip("abc", observations, strict=True)), ("a", "b", "c")
        if "final_obs" in infos:
            finals = [x and dict(zip(keys, x, strict=True)) for x in infos["final_obs"]]
            infos["final_obs"] = np.array(finals, object)
        own = roll_vec.final_obs(as_dict, infos)
        cases.assert_same(own, dict(zip(keys, expected, strict=True)))
        copied = roll_vec.final_obs(observations, {})
        last[0][:] = own["b"][:] = copied[2][:] = 99
        cases.assert_same(observations, before)
        if terminations.any():
            ended += 1
            plain.reset(options={"reset_mask": terminations})
    assert ended
