"""Gymnasium's vector wrappers around our batches, in every mode that they take.

Spaces, results and infos are those of SyncVectorEnv, see ``test_lockstep.py``: wrappers
that read no more give the same around both.
"""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import vector as wrappers

from tests.contract.cases import (
    ARRAY_IDS,
    CASES,
    DISABLED,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    make_batch,
    make_single,
    make_sync,
    scale_steps,
)
from tests.gymnasium_versions import needs
from tests.thinning import one_in

NUM_ENVS = 4
LAMPS = "tests_vector/Lamps-v0"
OBSERVING_MODES = [NEXT_STEP, DISABLED]  # others are refused by the base class


def batches(case, mode, **more):
    """Return a batch of ours and one of Gymnasium's, of the same worlds."""
    ours = make_batch(case, NUM_ENVS, autoreset_mode=mode, **more)
    return ours, make_sync(case, NUM_ENVS, mode, **more)


def play_wrapped(env, steps):
    """Yield what resets and steps return; DISABLED environments are reset wholly."""
    yield env.reset(seed=0)
    for row in draw_actions(env, steps):
        result = env.step(row)
        yield result
        mode = env.unwrapped.metadata["autoreset_mode"]
        if mode is DISABLED and (result[2] | result[3]).any():
            yield env.reset()


# --------------------------------------------------- RecordEpisodeStatistics

COUNTED_MODES = [
    NEXT_STEP,
    pytest.param(
        SAME_STEP,
        marks=needs("RecordEpisodeStatistics counts the first step in SAME_STEP"),
    ),
    DISABLED,
]


@pytest.mark.parametrize("mode", COUNTED_MODES)
@pytest.mark.parametrize("case", CASES)
def test_episode_statistics_are_those_of_the_batch(case, mode):
    # Over SyncVectorEnv, which takes the mask out of the options before the wrapper
    # can see it, a partial reset clears the statistics of all.
    env, plain = (
        make_batch(case, NUM_ENVS, autoreset_mode=mode, episode_info=has_infos)
        for has_infos in (False, True)
    )
    env = wrappers.RecordEpisodeStatistics(env)
    for batch in (env, plain):
        batch.reset(seed=3)
    rng, count, ended = np.random.default_rng(0), 0, np.zeros(NUM_ENVS, np.bool_)
    for row in draw_actions(env, scale_steps(50)):
        mask = (rng.random(NUM_ENVS) < 0.1) | ended
        for batch in (env, plain) if mask.any() else ():
            batch.reset(options={"reset_mask": mask.copy()})
        infos, own = env.step(row)[4], plain.step(row)[4]
        own = own.get("final_info", own)
        assert ("episode" in infos) == ("episode" in own)
        if "episode" in own:
            rows = own["_episode"]
            assert_same(infos["_episode"], rows)
            for key in ("r", "l"):
                expected = own["episode"][key][rows].tolist()
                assert infos["episode"][key][rows].tolist() == expected
            count += rows.sum()
            ended = rows & (mode is DISABLED)
        else:
            ended[:] = False
    assert env.episode_count == count > 0


@pytest.mark.learning
# In SAME_STEP mode the wrapper cannot convert Gymnasium's object arrays.
@pytest.mark.parametrize("mode", [NEXT_STEP, DISABLED])
@pytest.mark.parametrize("case", [*ARRAY_IDS, LAMPS])
def test_arrays_of_torch(case, mode):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")  # Gymnasium's extra torch
    env = wrappers.NumpyToTorch(make_batch(case, NUM_ENVS, autoreset_mode=mode))
    observations, _ = env.reset(seed=0)
    assert isinstance(observations, torch.Tensor)
    actions = torch.as_tensor(draw_actions(env, 1)[0])
    observations, rewards, *_ = env.step(actions)
    assert rewards.shape == (NUM_ENVS,)


# ----------------------------------------------------------------- rendering

FRAME_CASES = ["roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0 text", LAMPS]


@pytest.fixture
def dummy_display(monkeypatch):
    pytest.importorskip("cv2")
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    return pygame


@one_in(3, "mode, case", MODES, FRAME_CASES)
def test_human_rendering_shows_the_boards_of_every_step(case, mode, dummy_display):
    screens = []
    for env in batches(case, mode, render_mode="rgb_array"):
        env.metadata["render_fps"] = 1000
        env = wrappers.HumanRendering(env, screen_size=(256, 256))
        screens.append([])
        for _ in play_wrapped(env, 16):
            surface = dummy_display.display.get_surface()
            screens[-1].append(dummy_display.surfarray.array3d(surface))
        env.close()
        assert not dummy_display.display.get_init()
    assert len({pixels.tobytes() for pixels in screens[0]}) > 3
    assert_same(np.array(screens[0]), np.array(screens[1]))


@pytest.mark.parametrize("case", FRAME_CASES)
def test_single_environment_in_a_video_and_a_window(case, tmp_path, dummy_display):
    pytest.importorskip("moviepy")
    env = gymnasium.wrappers.RecordVideo(
        make_single(case, render_mode="rgb_array"), video_folder=str(tmp_path / "new")
    )
    env.metadata["render_fps"] = 1000
    env = gymnasium.wrappers.HumanRendering(env)
    env.reset(seed=0)
    for action in draw_actions(make_batch(case, 1), 100)[:, 0].tolist():
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    assert dummy_display.display.get_init()
    env.close()
    (video,) = (tmp_path / "new").glob("*.mp4")
    assert video.stat().st_size > 0
