"""The conformance checker on Gymnasium's own vector environments.

Their defects are findings, and there are no others.
"""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from roll_vec.testing import ConformanceError, check_vector_env
from tests.gymnasium_versions import as_in_newest, narrow_discrete, needs
from tests.testing.test_check_vector_env import STEPS, codes

# They step one environment after the other, and only then meet an invalid action.
SYNC_DEFECTS = {
    "options-mutated",
    "action-count-moves",
    "action-invalid-moves",
    "disabled-moves",
}
NO_OTHERS = "Gymnasium's own batches have these defects and no others"
KNOWN_DEFECTS = needs(NO_OTHERS)


class Words(gymnasium.Env):
    """Observes numbers as text; ends at the third to sixth step."""

    observation_space = spaces.Dict(
        {"text": spaces.Text(8), "words": spaces.Discrete(9)}
    )
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.words, self.last = 0, self.np_random.integers(3, 7)
        return self.observation(), {}

    def step(self, action):
        if action not in self.action_space:
            raise ValueError(action)
        self.words += 1
        is_last = bool(self.words >= self.last)
        return self.observation(), float(action), is_last, False, {}

    def observation(self):
        return {"text": f"{self.np_random.integers(10**6)}", "words": self.words}


class Boxes(gymnasium.Env):
    """Has nested spaces on both sides, and infos of every kind."""

    observation_space = spaces.Tuple(
        (spaces.Box(0, 1, (2, 3), np.float32), spaces.Dict({"word": spaces.Text(3)}))
    )
    action_space = spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Text(4)})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.words = 0
        return self.observation(), self.info()

    def step(self, action):
        self.words += 1
        reward, is_last = float(action["a"].sum()), self.words == 4
        return self.observation(), reward, False, is_last, self.info()

    def observation(self):
        numbers = self.np_random.random((2, 3)).astype(np.float32)
        return numbers, {"word": "abcde"[self.words :][:3] or "e"}

    def info(self):
        return {"nan": float("nan"), "names": ["a"], "deep": {"array": np.arange(3)}}


class Anything(gymnasium.Env):
    """Accepts every action."""

    observation_space = spaces.Discrete(5)

    def __init__(self, action_space):
        self.action_space = action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.steps, {}

    def step(self, action):
        self.steps += 1
        return self.steps, 0.0, self.steps == 4, False, {}


def batches(make_env, batch=SyncVectorEnv, **keywords):
    """Return a factory of Gymnasium's batches."""
    return lambda num_envs, autoreset_mode: batch(
        [make_env] * num_envs, autoreset_mode=autoreset_mode, **keywords
    )


@KNOWN_DEFECTS
def test_sync_batches_have_their_known_defects_only():
    # `prob` is the int 1 at a reset and a float at a step.
    lakes = batches(lambda: gymnasium.make("FrozenLake-v1"))
    assert codes(lakes, steps=20) == SYNC_DEFECTS | {"info-dtype"}
    # All end together, and which of these actions are invalid is not known.
    assert codes(batches(Boxes)) == {"options-mutated", "action-count-moves"}


@KNOWN_DEFECTS
def test_cart_pole_vector_env(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pytest.importorskip("pygame")
    assert codes(CartPoleVectorEnv, steps=40) == {
        *("autoreset-keyword", "metadata-shared", "reward-dtype", "seed-list"),
        *("seed-batch", "reset-mask", "closed-flag", "vector-methods"),
        *("render-mode-unknown", "render"),
    }


# It starts and ends processes for each of some seventy checks: 8 s.
@pytest.mark.slow
def test_async_text_is_stale():
    assert codes(batches(Words, AsyncVectorEnv)) == {
        "text-stale",
        "modes-agree",  # final_obs does not go through the shared memory
        "disabled-raises",
        "options-mutated",
        "action-count-moves",
        "action-invalid-moves",
    }


@pytest.mark.parametrize(
    ("space", "misuses"),
    [
        (
            spaces.Discrete(3, start=-1),
            ["actions with 2 in the last place", "actions with -2 in the last place"],
        ),
        (narrow_discrete(255, start=1), ["actions of shape (3, 1)"]),
        pytest.param(
            narrow_discrete(255, start=1),
            ["actions + 0.5"],
            marks=needs("Discrete takes a dtype"),
        ),
        (
            spaces.MultiDiscrete([2, 3], start=[1, 1]),
            ["actions with array([3, 4]) in the last place"],
        ),
        (spaces.MultiBinary(2), ["actions with 2 in the last place"]),
        (
            spaces.Text(4),
            [f"with {it} in the last place" for it in ("7", "None", "b'a'")],
        ),
    ],
)
def test_actions_that_are_accepted_are_found(space, misuses):
    with pytest.raises(ConformanceError) as error:
        check_vector_env(batches(lambda: Anything(space)), steps=STEPS)
    findings = {finding.slug: finding for finding in error.value.findings}
    done = " ".join(one.did for one in findings["action-invalid"].problems)
    assert all(misuse in done for misuse in misuses), done
    if isinstance(space, spaces.Text) and as_in_newest(NO_OTHERS):
        assert "step('aaa')" in findings["action-count"].problems[0].did
