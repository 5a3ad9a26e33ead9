"""Infos that roll_vec reads: faults are those of the pool, and success has one rule."""

from decimal import Decimal
from fractions import Fraction

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec import recordings
from roll_vec.errors import FaultMessage
from roll_vec.trajectories import play_seeds
from roll_vec.trajectories.runs import replay_trajectories
from roll_vec.watch import FrameRecorder
from tests.contract.cases import MODES, SAME_STEP
from tests.pool.cases import EACH_EXECUTOR, FAULTS_ON_PURPOSE

ID = "mine/Tool-v0"
# What tools say under the key of a fault.
ERRORS = ["not a number", "", None, 7, {"code": 3}, np.zeros(2)]


class Tool(roll_vec.BaseLanguageBasedEnv):
    """Ends with each answer; its infos have an ``error`` of its own."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "compute 1 + 1", {"error": "not yet"}

    def step(self, action):
        if action == "break":
            message = "the tool is not there"
            raise RuntimeError(message)
        info = {"success": True, "error": ERRORS[int(action)]}
        return "right", 1.0, True, False, info


def act(number, *, breaks=()):
    return ["break" if i in breaks else str(number) for i in range(3)]


@pytest.mark.parametrize("mode", MODES)
@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
def test_an_error_of_an_environment_is_no_fault(workers, mode, forgets_ids, tmp_path):
    roll_vec.register(ID, Tool)
    envs = roll_vec.make_vec(ID, 3, autoreset_mode=mode, **workers)
    recorders = FrameRecorder(envs, range(3)), recordings.RunRecorder(envs, ID, workers)
    # One environment fails in the first step, and none later.
    actions = [act(0, breaks=[1]), *map(act, range(6)), *map(act, range(6))]

    class Both:
        def add(self, event):
            for recorder in recorders:
                recorder.add(event)

    answers = iter(actions)
    summary = recordings.roll_out(
        envs, lambda _: next(answers), steps=13, seed=0, recorder=Both()
    )
    assert summary.faults == 1
    assert summary.first_error.endswith("RuntimeError: the tool is not there")
    num_failed = np.count_nonzero(summary.episodes.success != 1)
    assert (num_failed, summary.episodes.success[1]) == (1, -1)

    recording = recorders[0].recording(ID, {})
    frames = [frame for frames in recording.frames for frame in frames if frame]
    assert [frame.fault for frame in frames if frame.fault] == [summary.first_error]
    assert sum("error" in frame.infos for frame in frames) == len(frames) - 1

    # The file tells a fault from a text.
    path = tmp_path / "run.npz"
    recordings.save_run(path, recorders[1], summary.episodes, seed=0)
    run = recordings.load_run(path)
    batch = run.setup.make_batch()
    episodes = replay_trajectories(batch, run)
    batch.close()
    failed = [episode for episode in episodes if episode.fault is not None]
    assert [one.fault for one in failed] == [summary.first_error]
    assert all(one.success for one in episodes if one not in failed)
    envs.close()


@FAULTS_ON_PURPOSE
def test_trainers_see_the_faults_alone(forgets_ids):
    roll_vec.register(ID, Tool)
    envs = roll_vec.make_vec(ID, 3, autoreset_mode=SAME_STEP)
    envs.reset(seed=0)
    infos = envs.step(act(0, breaks=[1]))[4]
    final = infos["final_info"]
    assert infos["_error"].all()
    assert final["_error"].all()
    assert roll_vec.faults_of(infos) == {}
    assert [*roll_vec.faults_of(final)] == [1]
    as_list = gymnasium.wrappers.vector.DictInfoToList(envs).step(act(0, breaks=[2]))[4]
    assert roll_vec.faults_of(as_list) == {}
    assert [*roll_vec.faults_of(info["final_info"] for info in as_list)] == [2]
    assert [type(error) for error in final["error"]] == [str, FaultMessage, str]
    envs.close()

    envs = roll_vec.make_vec(ID, 3, autoreset_mode="Disabled", workers=2)
    envs.reset(seed=0)
    envs.send(act(0, breaks=[1])[:2], [2, 1])
    infos = envs.recv(2)[4]
    row = infos["env_id"].tolist().index(1)
    assert [*roll_vec.faults_of(infos)] == [row]

    steps = iter([act(1), act(1), act(1, breaks=[0])])
    episodes = [*play_seeds(envs, range(9), lambda _: next(steps))]
    assert [one.seed for one in episodes if one.fault is not None] == [6]
    assert [one.seed for one in episodes if not one.success] == [6]
    envs.close()


class Fifth:
    """A value that numpy cannot look into."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError


YES = [True, np.True_, 1.0, np.float32(1), 1, np.uint8(1), np.array(1.0), [True]]
YES += [np.array([True]), np.array([[1.0]]), Decimal(1), Fraction(1)]
YES += [np.array([True], object), np.array([[np.True_]], object), [Decimal(1)]]
NO = [False, np.False_, 0.0, 0, 0.5, np.float32(0.5), 2, -1, np.nan, np.array([0])]
NO += [np.array([False], object), Decimal("0.5"), Fraction(2)]
NONE = [None, "yes", "", {}, [], np.ones(2, bool), Fifth(), "1"]
NONE += [object(), np.array(["yes"], object), np.array([None]), [Fifth]]


class Reach(gymnasium.Env):
    """Ends with each step, with any value under any key."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, infos):
        self.infos = infos

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 1, 0.0, True, False, dict(self.infos)


def all_readings(infos, mode):
    """Return the success of environments, by each that says it."""
    envs = roll_vec.PoolVectorEnv(
        [lambda info=info: Reach(info) for info in infos], autoreset_mode=mode
    )
    watcher = FrameRecorder(envs, range(len(infos)))
    summary = recordings.roll_out(
        envs, lambda _: [0] * len(infos), steps=1, seed=0, recorder=watcher
    )
    codes = {1: True, 0: False, -1: None}
    readings = [[codes[code] for code in summary.episodes.success.tolist()]]
    readings.append([(each[0], each[1])[-1].success for each in _frames(watcher)])
    attribute = envs.successes.tolist()
    assert attribute == [value is True for value in readings[0]]
    envs.close()
    return readings


def _frames(watcher):
    frames = watcher.recording("", {}).frames
    return [[frame for frame in row if frame is not None] for row in frames]


@pytest.mark.parametrize("key", ["success", "is_success"])
@pytest.mark.parametrize("mode", MODES)
def test_success_has_one_rule(mode, key):
    values = [*YES, *NO, *NONE]
    expected = [True] * len(YES) + [False] * len(NO) + [None] * len(NONE)
    # Alone, so that the batch has an array of one kind; and all beside each other.
    batches = [
        ([value] * 2, [one] * 2) for value, one in zip(values, expected, strict=True)
    ]
    for batch, right in [*batches, (values, expected)]:
        infos = [{key: value} for value in batch]
        assert all_readings(infos, mode) == [right, right]


def test_success_comes_before_is_success():
    infos = [{"success": 0, "is_success": 1}, {"success": "?", "is_success": 1}]
    for reading in all_readings(infos, "Disabled"):
        assert reading == [False, True]
