"""A user's environment with its own state, solution and level options, in a pool."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec import BaseLanguageBasedEnv
from roll_vec.errors import InvalidOptionError
from roll_vec.registration import ENVIRONMENTS
from roll_vec.vector.state import VectorState
from tests.pool.cases import EACH_EXECUTOR, FAULTS_ON_PURPOSE, PROCESSES, values_of

ID = "tests_pool/Sums-v0"
KEYWORDS = {"action_pattern": "<answer>(.*?)</answer>", "max_episode_steps": 4}


class Sums(BaseLanguageBasedEnv):
    """Add a number to a total, three times; each number is random."""

    def __init__(self):
        super().__init__()
        self.digits = 1
        self.numbers, self.num_done = [], 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.numbers, self.num_done = [self._draw(), self._draw()], 0
        return self._observe(), {}

    def step(self, action):
        if action == "boom":
            raise ValueError(action)
        success = action == str(sum(self.numbers))
        self.numbers.append(self._draw())
        self.num_done += success
        over = self.num_done == 3
        return self._observe(), float(success), over, False, {"success": over}

    def _draw(self):
        return int(self.np_random.integers(10**self.digits))

    def _observe(self):
        return " + ".join(map(str, self.numbers))

    def get_state(self):
        return {
            "stream": self.get_stream(),
            "digits": self.digits,
            "numbers": list(self.numbers),
            "num_done": self.num_done,
        }

    def set_state(self, state):
        self.set_stream(state["stream"])
        self.digits, self.num_done = state["digits"], state["num_done"]
        self.numbers = list(state["numbers"])

    def solve(self):
        """Return the next answer; the numbers after it are not known."""
        return None if self.num_done == 3 else [str(sum(self.numbers))]

    def set_level_options(self, *, digits):
        if digits not in range(1, 10):
            raise InvalidOptionError.expected("digits", "1 to 9", digits)
        self.digits = digits


@pytest.fixture(autouse=True)
def _registered():
    roll_vec.register(ID, Sums)
    yield
    ENVIRONMENTS.pop(ID)
    gymnasium.registry.pop(ID)


def texts_of(envs):
    """Return the answers of all environments."""
    return [solution[0] for solution in envs.solve()]


@EACH_EXECUTOR
def test_it_is_solved_branched_and_taught(workers):
    envs = roll_vec.make_vec(ID, 4, **KEYWORDS, **workers)
    envs.reset(seed=8)
    envs.set_level_options(mask=np.array([False, True, False, True]), digits=6)
    with pytest.raises(InvalidOptionError, match="digits"):
        envs.set_level_options(mask=np.arange(4) == 0, digits=0)
    observations = envs.reset()[0]
    lengths = [max(map(len, text.split(" + "))) for text in observations]
    assert lengths[0] == lengths[2] == 1
    assert min(lengths[1], lengths[3]) > 3
    envs.step(texts_of(envs))
    state = envs.get_state()
    assert state.objects is None
    assert envs.step(texts_of(envs))[1].tolist() == [1.0] * 4
    # Environment 3 four times, with different answers.
    envs.set_state(state, rows=[3] * 4)
    answers = [*texts_of(envs)[:2], "<answer>7</answer>", "?"]
    observations, rewards, *_ = envs.step(answers)
    assert rewards.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert len(set(observations)) == 1
    # The digits of environment 3 came with its state.
    observations = envs.reset()[0]
    assert min(max(map(len, text.split(" + "))) for text in observations) > 3
    envs.close()


@EACH_EXECUTOR
def test_its_snapshot_goes_on_in_another_batch(workers, tmp_path):
    envs = roll_vec.make_vec(ID, 4, **KEYWORDS, **workers)
    envs.reset(seed=3)
    envs.set_level_options(mask=np.arange(4) > 1, digits=3)
    for _ in range(3):
        envs.step(texts_of(envs))
    envs.get_state().save(tmp_path / "state.npz")
    state = VectorState.load(tmp_path / "state.npz")
    rows = [3, 3, 0, 1, 2, 3]
    others = PROCESSES if not workers else {}
    with_rows = roll_vec.make_vec(ID, 6, **KEYWORDS, **others)
    with_rows.set_state(state, rows=rows)
    for _ in range(7):
        answers = ["" if answer is None else answer[0] for answer in envs.solve()]
        assert with_rows.solve() == tuple(envs.solve()[row] for row in rows)
        result = envs.step(answers)
        twin_result = with_rows.step([answers[row] for row in rows])
        assert values_of(twin_result, list(range(6))) == values_of(result, rows)
    envs.close()
    with_rows.close()


@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
def test_objects_that_replace_others_get_the_level_options_of_the_snapshot(workers):
    envs = roll_vec.make_vec(ID, 3, **KEYWORDS, **workers)
    envs.reset(seed=3)
    envs.set_level_options(mask=np.arange(3) == 1, digits=4)
    state = envs.get_state()
    other = roll_vec.make_vec(ID, 3, **KEYWORDS, **workers)
    other.reset(seed=9)
    other.set_level_options(digits=7)
    other.set_state(state, rows=[1, 0, 1])
    other.step(["<answer>boom</answer>"] * 3)
    other.step([""] * 3)
    assert other.fault_counts.tolist() == [1, 1, 1]
    assert other.get_attr("digits") == (4, 1, 4)
    envs.close()
    other.close()
