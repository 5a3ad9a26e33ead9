"""What else a batch has: spec, metadata, call and get_attr, rendering, repr."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

import roll_vec
from roll_vec.errors import FrozenAttributeError, InvalidOptionError
from roll_vec.pool import PoolVectorEnv
from roll_vec.registration import ENVIRONMENTS
from tests.contract.cases import (
    ARRAY_IDS,
    CASES,
    CUSTOM_IDS,
    LIMIT,
    MODES,
    NEXT_STEP,
    POOLED_IDS,
    POOLS,
    SAME_STEP,
    SINGLES,
    TEXTS,
    assert_same,
    draw_actions,
    explicit_action_start,
    id_of,
    is_pooled,
    keywords,
    lowest_action,
    make_batch,
    make_single,
    make_sync,
    play,
    single_keywords,
)
from tests.gymnasium_versions import as_in_newest

NUM_ENVS = 3


# Ids as they are.
PLAIN = [*ARRAY_IDS, *POOLED_IDS, *CUSTOM_IDS]


@pytest.fixture(params=ARRAY_IDS)
def case(request):
    """An id whose batch is stacked in arrays."""
    return request.param


@pytest.fixture
def env(case):
    """A batch of the case, not reset yet."""
    return make_batch(case, NUM_ENVS)


# --------------------------------------------------------- Gymnasium's own ways


@pytest.mark.parametrize("case", CASES)
def test_is_a_vector_env_that_make_vec_gives_by_default(case, env):
    # skrl.wrap_env looks at the direct bases alone.
    assert VectorEnv in type(env).__bases__
    expected = PoolVectorEnv if is_pooled(case) else roll_vec.RollVectorEnv
    assert type(env) is expected
    assert env.unwrapped is env


@pytest.mark.parametrize("case", PLAIN)
def test_make_vec_in_sync_mode_gives_the_single_forms(case):
    more = {"max_episode_steps": LIMIT, **explicit_action_start(case)}
    ours = gymnasium.make_vec(case, num_envs=NUM_ENVS, **more)
    sync = gymnasium.make_vec(case, NUM_ENVS, vectorization_mode="sync", **more)
    assert isinstance(sync, gymnasium.vector.SyncVectorEnv)
    assert_same(ours.reset(seed=0), sync.reset(seed=0))
    for row in draw_actions(ours, 30):
        assert_same(ours.step(row), sync.step(row))


def test_spaces_are_those_that_gymnasium_batches(case):
    for obs_mode in (
        single_keywords(case)["obs_mode"],
        "grid",
        "planes",
        "rgb",
        "text",
    ):
        env = make_batch(case, NUM_ENVS, obs_mode=obs_mode)
        single = make_single(case, obs_mode=obs_mode)
        sync = make_sync(case, NUM_ENVS, NEXT_STEP, obs_mode=obs_mode)
        assert env.single_observation_space == single.observation_space
        assert env.single_action_space == single.action_space
        assert env.observation_space == sync.observation_space
        assert env.action_space == sync.action_space
        assert env.observation_space == batch_space(single.observation_space, NUM_ENVS)
        assert env.action_space == batch_space(single.action_space, NUM_ENVS)
        assert env.action_space.dtype == np.int64
        observations, _ = env.reset(seed=0)
        assert observations in env.observation_space


@pytest.mark.parametrize("case", CASES)
def test_sampled_actions_are_accepted(env):
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(20):
        observations, *_ = env.step(env.action_space.sample())
        assert observations in env.observation_space


@pytest.mark.parametrize("case", PLAIN)
def test_spec_rebuilds_the_batch(case):
    more = {"autoreset_mode": SAME_STEP, "group_size": 3, "max_episode_steps": 5}
    if not is_pooled(case):
        more["obs_mode"] = "text"
    more.update(explicit_action_start(case))
    env = gymnasium.make_vec(case, num_envs=6, **more)
    assert env.spec.id == case
    again = gymnasium.make_vec(env.spec)
    assert again.num_envs == 6
    assert (again.autoreset_mode, again.group_size) == (SAME_STEP, 3)
    assert again.spec == env.spec
    assert_same(again.reset(seed=1), env.reset(seed=1))
    actions = draw_actions(env, 20)
    assert_same(play(again, actions), play(env, actions))


@pytest.mark.parametrize("case", CASES)
def test_spec_is_settable(case, env):
    spec = gymnasium.spec("FrozenLake-v1")
    env.spec = spec
    assert env.spec is spec
    if not is_pooled(case):
        assert env.get_attr("spec") == (spec,) * NUM_ENVS


@pytest.mark.parametrize("case", [case for case in CASES if is_pooled(case)])
def test_environments_of_pools_have_specs_and_are_there(case, env):
    sync = make_sync(case, NUM_ENVS, NEXT_STEP)
    assert env.get_attr("spec") == sync.get_attr("spec")
    again = gymnasium.make(env.get_attr("spec")[0])
    assert type(again.unwrapped) is type(env.envs[0].unwrapped)
    assert [one.action_space for one in env.envs] == [sync.single_action_space] * 3


@pytest.mark.parametrize("case", PLAIN)
def test_spec_goes_through_json(case):
    spec = gymnasium.spec(case)
    again = gymnasium.envs.registration.EnvSpec.from_json(spec.to_json())
    assert len(gymnasium.make_vec(again, num_envs=2).reset(seed=0)[0]) == 2


@pytest.mark.parametrize("case", PLAIN)
def test_id_with_a_module_prefix(case):
    env = gymnasium.make_vec(f"roll_vec:{case}", num_envs=2)
    assert env.spec.id == case


@pytest.mark.parametrize("case", CASES)
def test_repr_names_id_and_size(case, env):
    name = "PoolVectorEnv" if is_pooled(case) else "RollVectorEnv"
    assert repr(env) == f"{name}({id_of(case)}, num_envs={NUM_ENVS})"


@pytest.mark.parametrize("case", SINGLES)
@pytest.mark.parametrize("flag", [None, True, False])
def test_disable_env_checker_is_accepted_and_ignored(case, flag):
    env = make_batch(case, 2, disable_env_checker=flag)
    assert_same(env.reset(seed=0), make_batch(case, 2).reset(seed=0))


def test_default_limit_is_the_registered_one(case):
    registered = ENVIRONMENTS[case].max_episode_steps
    assert gymnasium.spec(case).max_episode_steps == registered
    # An action that goes nowhere is taken until the limit.
    more = {"is_slippery": False} if "is_slippery" in single_keywords(case) else {}
    more.update(explicit_action_start(case))
    for limit in ({}, {"max_episode_steps": None}):
        env = gymnasium.make_vec(case, num_envs=2, **more, **limit)
        env.reset(seed=0)
        row = [lowest_action(env)] * 2
        flags = [env.step(row)[3].tolist() for _ in range(registered)]
        assert flags == [[False, False]] * (registered - 1) + [[True, True]]


@pytest.mark.parametrize("case", SINGLES)
def test_no_limit_truncates_never(case):
    env = make_batch(case, 2, max_episode_steps=-1)
    env.reset(seed=0)
    row = [lowest_action(env)] * 2
    for _ in range(300):
        *_, truncations, _ = env.step(row)
        assert not truncations.any()


# ------------------------------------------------------------------ metadata


@pytest.mark.parametrize("case", SINGLES)
def test_metadata_is_of_the_instance(case):
    envs = {mode: make_batch(case, 1, autoreset_mode=mode) for mode in MODES}
    for mode, env in envs.items():
        assert env.metadata["autoreset_mode"] is mode
        assert env.metadata["render_fps"] > 0
        modes = set(env.metadata["render_modes"])
        if not is_pooled(case):
            assert modes == {"human", "rgb_array", "ansi", "text"}
        assert modes >= {"ansi"}
    assert "autoreset_mode" not in roll_vec.RollVectorEnv.metadata
    if as_in_newest("SyncVectorEnv leaves the metadata of its environments alone"):
        assert "autoreset_mode" not in make_single(case).metadata


# -------------------------------------------------- call, get_attr, set_attr


def test_get_attr_has_the_configuration(case, env):
    configured = {**single_keywords(case), **keywords(case)}
    for name in single_keywords(case):
        values = env.get_attr(name)
        assert isinstance(values, tuple)
        assert len(values) == NUM_ENVS
        if configured[name] is not None and name in keywords(case):
            assert values[0] == configured[name]


@pytest.mark.parametrize("case", [*ARRAY_IDS, *TEXTS])
def test_get_attr_and_call_equal_those_of_sync(case, env):
    sync = make_sync(case, NUM_ENVS, NEXT_STEP)
    sync.reset(seed=0)
    env.reset(seed=0)
    for row in draw_actions(env, 5):
        sync.step(row)
        env.step(row)
    for name in (
        *env.engine.PER_ENV_ATTRIBUTES,
        *env.engine.SHARED_ATTRIBUTES,
        "np_random_seed",
        "render_mode",
    ):
        expected = sync.call(name)
        assert_same(env.call(name), expected)
        attribute = env.get_attr(name)
        if callable(attribute[0]):
            attribute = tuple(method() for method in attribute)
        assert_same(attribute, expected)


@pytest.mark.parametrize("case", [*ARRAY_IDS, *TEXTS])
def test_what_is_read_is_no_handle_on_the_state(case, env):
    twin = make_batch(case, NUM_ENVS)
    env.reset(seed=0)
    twin.reset(seed=0)
    for name in (*env.engine.PER_ENV_ATTRIBUTES, *env.engine.SHARED_ATTRIBUTES):
        for value in env.call(name):
            if isinstance(value, np.ndarray):
                value[...] = value.flat[0]
            elif isinstance(value, (dict, list)):
                value.clear()
    actions = draw_actions(env, 30)
    assert_same(play(env, actions), play(twin, actions))


@pytest.mark.parametrize("case", POOLS)
def test_pools_answer_as_sync_does(case, env):
    sync = make_sync(case, NUM_ENVS, NEXT_STEP)
    sync.reset(seed=0)
    env.reset(seed=0)
    names = ["num_env_steps", "level_seed", "np_random_seed", "render_mode", "metadata"]
    if "Countdown" in case:
        names += ["nums", "target", "oracle_action", "get_instructions", "get_state"]
    for row in draw_actions(env, 5):
        for name in names:
            assert_same(env.call(name), sync.call(name))
        sync.step(row)
        env.step(row)
    for name in ("nothing", "_nothing"):
        with pytest.raises(AttributeError, match="nothing"):
            env.get_attr(name)


@pytest.mark.parametrize("name", ["nothing", "step", "reset", "_seed_state", "engine"])
def test_unknown_attribute_lists_those_that_exist(env, name):
    for read in (env.get_attr, env.call):
        with pytest.raises(AttributeError, match=f"{name}.*num_env_steps"):
            read(name)


def test_set_attr_refuses_and_changes_nothing(env):
    before = env.get_attr("obs_mode")
    for values in ("text", ["text"] * NUM_ENVS, ("text",) * NUM_ENVS):
        with pytest.raises(FrozenAttributeError, match="make a new env") as caught:
            env.set_attr("obs_mode", values)
        assert isinstance(caught.value, AttributeError)
    with pytest.raises(ValueError, match=f"expected {NUM_ENVS}.*got 2"):
        env.set_attr("obs_mode", ["text"] * 2)
    assert env.get_attr("obs_mode") == before


@pytest.mark.parametrize("mode", MODES)
def test_generators_stand_where_those_of_sync_do(case, mode):
    more = {"is_slippery": True} if "is_slippery" in single_keywords(case) else {}
    env = make_batch(case, NUM_ENVS, autoreset_mode=mode, **more)
    sync = make_sync(case, NUM_ENVS, mode, **more)

    def assert_where_sync_is():
        for generators in (env.np_random, env.get_attr("np_random")):
            assert isinstance(generators, tuple)
            actual = [one.bit_generator.state for one in generators]
            assert actual == [one.bit_generator.state for one in sync.np_random]
            for one in generators:
                one.random()  # a copy: no environment moves

    # Beyond 64 bits too, which another path seeds.
    for batch in (env, sync):
        batch.reset(seed=[0, 2**31, 2**80])
    assert_where_sync_is()
    for row in draw_actions(env, 3 * LIMIT):
        assert_same(play(env, [row]), play(sync, [row]))
        assert_where_sync_is()


def test_generators_before_a_reset_and_for_good(env):
    first, second, _ = env.np_random
    assert first.random() != second.random()
    with pytest.raises(FrozenAttributeError, match=r"reset\(seed="):
        env.np_random = np.random.default_rng()


@pytest.mark.parametrize("case", SINGLES)
def test_successes_are_the_last_steps(case):
    more = {"autoreset_mode": SAME_STEP, "max_episode_steps": 100}
    env = make_batch(case, 256, **more)
    env.reset(seed=0)
    seen = False
    for row in draw_actions(env, 150):
        _, rewards, *_, infos = env.step(row)
        successes = env.successes
        assert successes.dtype == np.bool_
        told = [infos, infos.get("final_info", {})]
        told = [layout["success"] for layout in told if "success" in layout]
        expected = np.logical_or.reduce(told) if told else rewards > 0
        assert_same(successes, expected)
        seen |= successes.any()
    assert seen


# ----------------------------------------------------------------- rendering


@pytest.mark.parametrize("case", CASES)
def test_frames_equal_those_of_the_single_forms(case):
    for mode in ("ansi",) if is_pooled(case) else ("rgb_array", "ansi", "text"):
        env = make_batch(case, NUM_ENVS, render_mode=mode)
        sync = make_sync(case, NUM_ENVS, NEXT_STEP, render_mode=mode)
        env.reset(seed=0)
        sync.reset(seed=0)
        for row in draw_actions(env, 15):
            assert_same(env.render(), sync.render())
            env.step(row)
            sync.step(row)
        frames = env.render()
        assert isinstance(frames, tuple)
        assert len(frames) == NUM_ENVS
        assert_same(env.render_envs([2, 0]), (frames[2], frames[0]))
        assert env.render_mode == mode


def test_no_render_mode_renders_nothing(env):
    env.reset(seed=0)
    assert env.render_mode is None
    assert env.render() is None


@pytest.mark.parametrize("case", CASES)
def test_rendering_moves_nothing(case):
    env, twin = (make_batch(case, NUM_ENVS, render_mode="ansi") for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    for row in draw_actions(env, 20):
        env.render()
        assert_same(env.step(row), twin.step(row))


def test_human_mode_shows_boards_in_a_window(case, monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(pygame.time, "Clock", FreeClock)
    env = make_batch(case, 20, render_mode="human")
    twin = make_batch(case, 20)
    assert not pygame.display.get_init()
    assert_same(env.reset(seed=0), twin.reset(seed=0))
    first = pygame.surfarray.array3d(pygame.display.get_surface())
    actions = draw_actions(env, 5)
    assert_same(play(env, actions), play(twin, actions))
    assert env.render() is None
    later = pygame.surfarray.array3d(pygame.display.get_surface())
    assert later.shape == first.shape
    assert not np.array_equal(later, first)
    assert env.render_envs([0])[0].shape[2] == 3
    env.close()
    env.close()
    assert not pygame.display.get_init()


class FreeClock:
    """pygame's clock without the waiting."""

    def tick(self, fps):
        return 0


@pytest.mark.parametrize("mode", ["rgb", "depth_array", "", 0])
def test_unknown_render_mode_is_refused(case, mode):
    with pytest.raises(InvalidOptionError, match="'rgb_array'"):
        make_batch(case, 2, render_mode=mode)
