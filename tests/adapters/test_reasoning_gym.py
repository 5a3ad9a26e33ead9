"""The adapter of reasoning-gym with a stand-in; `make test-adapters` has the package.

``data/reasoning_gym.json`` has the first entries of ``spiral_matrix`` of reasoning-gym
0.1.25 with seed 0, and its scores of some answers.
"""

import json
import random
import sys
import types
from pathlib import Path

import pytest

from roll_vec.adapters import reasoning_gym
from roll_vec.errors import InvalidOptionError, InvalidStateError

DATA = json.loads(
    (Path(__file__).parent / "data" / "reasoning_gym.json").read_text("utf-8")
)


class Recorded:
    """The recorded entries; the score evaluates lists, as that of the package."""

    def __init__(self, seed=None, size=3):
        assert seed == 0, "a seed"
        assert size > 0, "size must be positive"
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        entry = DATA["entries"][index % 3]
        return {**entry, "draw": sys.modules["reasoning_gym.data_sets"].random.random()}

    def score_answer(self, answer, entry):
        if answer == entry["answer"]:
            return 1.0
        try:
            text = " ".join(map(str, eval(answer)))
        except Exception:
            return 0.0
        return 0.1 if text == entry["answer"] else 0.0


def parse_expr(text):
    """Stand for sympy's."""
    return eval(text)


class Calculated(Recorded):
    """Its score runs answers as code."""

    def score_answer(self, answer, entry):
        return float(parse_expr(answer) == 24)


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    names = ["reasoning_gym", "reasoning_gym.factory", "reasoning_gym.data_sets"]
    modules = {name: types.ModuleType(name) for name in names}
    factory = modules["reasoning_gym"].factory = modules["reasoning_gym.factory"]
    classes = {"matrix": Recorded, "puzzle": Calculated, "composite": Recorded}
    # A class and the class of its config.
    factory.DATASETS = {name: (cls, dict) for name, cls in classes.items()}
    for cls in classes.values():
        monkeypatch.setattr(cls, "__module__", "reasoning_gym.data_sets")
    factory.create_dataset = lambda name, **config: classes[name](**config)
    modules["reasoning_gym.data_sets"].random = random
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


def test_entries_and_scores_are_those_of_the_package():
    envs = reasoning_gym.make_vec("matrix", 3, autoreset_mode="Disabled")
    for column in zip(*DATA["scores"], strict=True):
        observations, infos = envs.reset(seed=0)
        assert list(observations) == [entry["question"] for entry in DATA["entries"]]
        assert infos["entry"].tolist() == [0, 1, 2]
        answers, scores = zip(*column, strict=True)
        _, rewards, terminations, truncations, infos = envs.step(answers)
        assert rewards.tolist() == list(scores)
        assert terminations.all()
        assert not truncations.any()
        assert infos["success"].tolist() == [score == 1 for score in scores]


def test_answers_are_not_run(tmp_path):
    target = tmp_path / "file"
    envs = reasoning_gym.make_vec("matrix", 1)
    envs.reset(seed=0)
    assert envs.step([f"[open({str(target)!r}, 'w')]"])[1] == [0.0]
    assert not target.exists()
    with pytest.raises(InvalidOptionError, match=r"runs answers .*allow_code=True"):
        reasoning_gym.make_vec("puzzle", 1)
    envs = reasoning_gym.make_vec("puzzle", 1, allow_code=True)
    envs.reset(seed=0)
    assert envs.step(["2 * 12"])[1] == [1.0]


def test_states_and_draws():
    envs = reasoning_gym.make_vec("matrix", 2, size=50, workers=2)
    state = random.getstate()
    observations = envs.reset(seed=7)[0]
    # The draws of an entry depend on its number alone.
    draws = [random.Random(number).random() for number in (7, 8)]
    assert [entry["draw"] for entry in envs.get_attr("entry")] == draws
    saved = envs.get_state()
    envs.step(list(envs.get_attr("oracle_action")))
    assert envs.successes.all()
    assert envs.set_state(saved) == observations
    assert saved.row(0)["entry"] == 7
    with pytest.raises(
        InvalidStateError, match=r"entry: expected an int from -1 to 49"
    ):
        envs.set_state(saved.replace_row(0, {**saved.row(0), "entry": 50}))
    assert random.getstate() == state
    envs.close()


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("nothing", {}, "dataset: expected one of"),
        ("composite", {}, "not composite"),
        ("matrix", {"size": 0}, "size: expected at least 1"),
        ("matrix", {"size": "10"}, "size: expected an integer"),
        (["matrix"], {}, "dataset: expected a str"),
        ("matrix", {"sise": 9}, "config of matrix: .*sise"),
    ],
)
def test_bad_keywords(name, config, message):
    with pytest.raises(InvalidOptionError, match=message):
        reasoning_gym.make_vec(name, 1, **config)
