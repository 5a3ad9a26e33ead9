"""The adapter of GEM with a stand-in of its package; `make test-adapters` has GEM.

``data/gem.json`` has an episode of gem-llm 0.1.0: ``game:GuessTheNumber-v0-hard``,
``reset(seed=5)``, and its answers to some texts.  `tests/frameworks/gem/check.py` says
whether GEM still gives it.  The stand-in draws its number as GEM does.
"""

import json
import random
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from roll_vec.adapters import gem
from roll_vec.errors import EnvironmentFaultWarning, InvalidOptionError
from roll_vec.mixed import make_mixed
from roll_vec.seeding import episode_seed

EPISODE = json.loads((Path(__file__).parent / "data" / "gem.json").read_text("utf-8"))


class Number:
    """A game with GEM's interface; its instructions are those of the episode."""

    def __init__(self, low=1, high=50):
        self.low, self.high = low, high
        self.reset()

    def reset(self, seed=None):
        if seed is not None:
            random_of(self).seed(seed)
        self.number = random_of(self).randint(self.low, self.high)
        self.turn = 0
        return EPISODE["reset"][0], {"suffix": "Enter your next guess."}

    def step(self, action):
        self.turn += 1
        if action == "break":
            raise RuntimeError("broken")
        guess = re.search(r"\\boxed{(\d+)}", action)
        info = {"suffix": "Enter your next guess."}
        if guess is None:
            text = f"At turn {self.turn}, you did not provide a valid guess."
            return text, -0.1, True, False, info
        value = int(guess[1])
        if value == self.number:
            text = (
                f"Congratulations! You guessed the correct number {value} in "
                f"{self.turn} turns."
            )
            return text, 1.0, True, False, info
        hint = "lower" if value > self.number else "higher"
        text = (
            f"At turn {self.turn}, you guessed {value}, and the target number is "
            f"{hint} than {value}."
        )
        return text, 0.0, False, self.turn > 8, info

    def sample_random_action(self):
        return f"\\boxed{{{random_of(self).randint(self.low, self.high)}}}"


def random_of(env):
    return sys.modules["gem.numbers"].random


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    names = ["gem", "gem.envs", "gem.envs.registration", "gem.numbers"]
    modules = {name: types.ModuleType(name) for name in names}
    modules["gem.numbers"].random = random
    modules["gem.numbers"].Number = Number
    registration = modules["gem.envs.registration"]
    spec = types.SimpleNamespace(entry_point="gem.numbers:Number")
    registration.ENV_REGISTRY = {"game:Number-v0": spec}
    registration.make = lambda env_id, **keywords: Number(**keywords)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


def test_an_episode_is_gems():
    state = random.getstate()
    envs = gem.make_vec("game:Number-v0", 2, autoreset_mode="Disabled")
    observations, infos = envs.reset(seed=[5, 6])
    assert observations[0] == EPISODE["reset"][0]
    assert infos["suffix"][0] == EPISODE["reset"][1]["suffix"]
    for text, (observation, reward, terminated, truncated, info) in EPISODE["steps"]:
        result = envs.step([text, "\\boxed{0}"])
        assert (result[0][0], result[1][0]) == (observation, reward)
        assert (result[2][0], result[3][0]) == (terminated, truncated)
        assert result[4]["suffix"][0] == info["suffix"]
    assert envs.successes.tolist() == [True, False]
    assert random.getstate() == state


def test_environments_do_not_share_draws():
    envs = gem.make_vec("game:Number-v0", 4, workers=2)
    envs.reset(seed=3)
    numbers = [env.env.number for env in (one.unwrapped for one in envs.envs)]
    assert numbers == [random.Random(3 + i).randint(1, 50) for i in range(4)]
    envs.reset()
    numbers = [env.env.number for env in (one.unwrapped for one in envs.envs)]
    seeds = [episode_seed(3 + i, 1) for i in range(4)]
    assert numbers == [random.Random(seed).randint(1, 50) for seed in seeds]
    envs.close()


def test_faults_snapshots_and_mixtures():
    id = gem.register("game:Number-v0", high=9)
    assert id == "gem/game-Number-v0"
    lakes = {"id": "roll_vec/RandomFrozenLake-v0", "size": 4}
    envs = make_mixed({id: {}, "lakes": lakes}, num_envs=4, autoreset_mode="SameStep")
    envs.reset(seed=0)
    with pytest.warns(EnvironmentFaultWarning, match="broken"):
        *_, truncations, infos = envs.step(["break", "\\boxed{0}", "Up", "Up"])
    assert truncations.tolist() == [True, False, False, False]
    assert "broken" in infos["final_info"]["error"][0]
    state = envs.get_state()
    first = [envs.step(["\\boxed{3}"] * 2 + ["Up"] * 2) for _ in range(5)]
    envs.set_state(state)
    again = [envs.step(["\\boxed{3}"] * 2 + ["Up"] * 2) for _ in range(5)]
    for one, other in zip(first, again, strict=True):
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])


def test_samples_are_gems_random_play():
    envs = gem.make_vec("game:Number-v0", 2, high=9)
    assert set(envs.single_action_space.examples) <= {
        f"\\boxed{{{number}}}" for number in range(1, 10)
    }


class Loud:
    """A wrapper of GEM's kind."""

    def __init__(self, env):
        self.env = env

    def reset(self, seed=None):
        text, info = self.env.reset(seed)
        return text.upper(), info


def test_wrappers_of_gem():
    envs = gem.make_vec("game:Number-v0", 2, gem_wrappers=[Loud])
    assert envs.reset(seed=0)[0][0] == EPISODE["reset"][0].upper()


def test_a_list_of_ids_as_in_gem_is_refused():
    for make in (gem.make_vec, gem.register):
        with pytest.raises(InvalidOptionError, match="env_id: expected a str"):
            make(["game:Number-v0"] * 2)


def test_unknown_id():
    with pytest.raises(InvalidOptionError, match=r"env_id: .*print_envs"):
        gem.make_vec("game:Nothing-v0", 2)
