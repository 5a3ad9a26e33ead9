"""Files of trainers: read, and played again; bad ones are one clear error."""

import copy
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from roll_vec.adapters.roll import GemSokobanNativeEnv
from roll_vec.adapters.trl import environment_factory, log_episodes
from roll_vec.adapters.verl_agent import build_sokoban_envs
from roll_vec.errors import InvalidFileError, InvalidOptionError, MissingExtraError
from roll_vec.evaluation.replaying import AnswerPlan, group_episodes
from roll_vec.recordings.readers import read_episodes, rows

DATA = Path(__file__).parent / "data"
SOKOBAN = "roll_vec/Sokoban-v0"
ROOM = {"dim_room": (5, 5), "num_boxes": 1, "format_penalty": -0.5}
# What wrote each file.  A script stood in for the model, all else was the framework's.
WRITERS = {
    "openenv.jsonl": "OpenEnv 0.10.0: CollectRunner over roll_vec.adapters.openenv",
    "roll.jsonl": "ROLL 8eb27cc2: AgentNativeStepEnvManager.run_rollout_loop, and "
    "dump_rollout_trajectories, with roll_vec/sokoban_native_env",
    "trl.jsonl": "TRL 1.16.0: GRPOTrainer with log_episodes, and pandas' to_json",
    "trl.parquet": "TRL 1.16.0: GRPOTrainer with a reward function that logs the seed",
    "verifiers.jsonl": "verifiers 0.4.0: vf-eval roll_vec_games -n 2, max-turns 2",
    "verl_agent.jsonl": "verl-agent d0b97244: TrajectoryCollector.multi_turn_loop and "
    "_dump_generations, with the two lines of docs/trainers_files.md",
}
# Of the caller, for files that do not say it.
TASKS = {"trl.parquet": {"id": SOKOBAN, "keywords": {**ROOM, "max_episode_steps": 3}}}


def read(name, **changes):
    return read_episodes(DATA / name, **{**TASKS.get(name, {}), **changes})


def play(episodes):
    """Play episodes again; return the rewards of each and its last infos."""
    results = [([], {}) for _ in episodes]
    for group in group_episodes(episodes):
        envs = group.make_vec()
        plan = AnswerPlan(envs, group.episodes)
        for event in plan.play():
            for i in np.flatnonzero(event.plays).tolist():
                rewards, last = results[group.places[plan.episodes[i]]]
                rewards.append(float(event.rewards[i]))
                last["success"] = bool(event.infos["success"][i])
                last["truncated"] = bool(event.truncations[i])
        envs.close()
        assert plan.problems() == {}
    return results


def test_each_file_says_what_wrote_it():
    assert {path.name for path in DATA.iterdir()} == WRITERS.keys()


@pytest.mark.parametrize("name", WRITERS)
def test_episodes_of_trainers_are_played_again(name):
    episodes = read(name)
    for episode, (rewards, last) in zip(episodes, play(episodes), strict=True):
        if episode.rewards is not None:
            np.testing.assert_allclose(episode.rewards, rewards, rtol=1e-6)
        if episode.total_reward is not None:
            assert episode.total_reward == pytest.approx(sum(rewards))
        if episode.success is not None:
            assert episode.success == last["success"]


def test_what_the_files_say():
    first, second = read("roll.jsonl")
    end = "<|im_end|>"
    assert first.answers == [
        f"<answer>Left</answer>{end}",
        "I push.\n<answer> DOWN </answer>",
    ]
    assert first.prompts[1].startswith("Current state:\n#####\n")
    assert (first.seed, first.group) == (1005, "SokobanNative_0_5")
    assert (second.place, second.rewards) == ("line 1, trajectory 1", [-0.1, -0.25])
    assert [first.success, second.success] == [True, False]

    first, second = read("verl_agent.jsonl")
    think = "<think>?</think>"
    # verl-agent reads "I go Left"; a second "still" is no step there, and here none.
    assert first.answers == [
        f"{think}<action>{name}</action>" for name in ("still", "Down")
    ]
    assert second.answers[0] == "<action>left</action>"
    assert first.group == second.group
    assert "Current Step" in first.prompts[0]

    solved, cut = read("verifiers.jsonl")
    assert (solved.seed, solved.total_reward, solved.fault) == (1001, 10.9, None)
    assert cut.answers[1] == "I go right. <answer> right </answer>"
    assert (cut.was_cut, cut.fault) == ([False, True], "max_turns")

    whole, stopped = read("openenv.jsonl")
    assert whole.answers == [
        "<answer>Up</answer>",
        "I go <answer>Left</answer>",
        "Down",
    ]
    assert (whole.seed, whole.fault, stopped.fault) == (7, None, "the agent stopped")

    episodes = read("trl.parquet")
    assert [episode.seed for episode in episodes] == [1001, 1001, 1002, 1002]
    assert [episode.group for episode in episodes] == ["1/0", "1/0", "1/1", "1/1"]
    # Calls after the end are no steps.
    assert episodes[0].answers == ["Left", "Left", "banana"]
    logged = read("trl.jsonl")
    assert logged[0].answers == episodes[0].answers
    assert [episode.id for episode in logged[::2]] == [SOKOBAN, "roll_vec/Countdown-v0"]
    assert [episode.fault for episode in logged[::2]] == [None, "the model stopped"]


# ------------------------------------------------------------------ forms by hand


def write(folder, *lines, name="file.jsonl"):
    path = folder / name
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def test_the_plain_form(tmp_path):
    path = write(
        tmp_path,
        {"tag": "small", "id": SOKOBAN, "keywords": {"num_boxes": 1}},
        {"tag": "small", "keywords": {"max_steps": 2}, "seed": 3, "answers": ["Up"]},
        {
            "id": f"roll_vec:{SOKOBAN}",
            "seed": 2**40,
            "answers": [1, 4],
            "rewards": [0, 0.5],
            "return": 0.5,
            "success": False,
            "length": 2,
            "terminated": False,
            "truncated": True,
            "prompts": ["a", "b"],
            "was_cut": [False, True],
            "group": 7,
            "fault": None,
            "notes": [1],
        },
    )
    first, second = read_episodes(path)
    assert (first.id, first.place, first.answers) == (SOKOBAN, "line 2", ["Up"])
    modes = {"obs_mode": "text", "action_mode": "text"}
    assert first.keywords == {**modes, "num_boxes": 1, "max_steps": 2}
    assert (second.id, second.seed, second.keywords) == (SOKOBAN, 2**40, {})
    assert (second.rewards, second.total_reward, second.group) == ([0, 0.5], 0.5, 7)
    assert (second.truncated, second.was_cut) == (True, [False, True])
    other = read_episodes(path, "plain", "roll_vec/Taxi-v4", {"max_steps": 9})
    assert {episode.id for episode in other} == {"roll_vec/Taxi-v4"}
    assert other[0].keywords["max_steps"] == 9


def call(name="move", **arguments):
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"type": "function", "function": function}],
    }


def test_calls_of_tools_that_took_no_action_are_left_out(tmp_path):
    over = "The episode is over. No further action counts."
    wrong = "{'error': \"move() got an unexpected keyword argument 'to'\"}"
    completion = [
        *(call(to="Up"), {"role": "tool", "content": wrong}),
        *(call(direction="Up", to=None), {"role": "tool", "content": "board"}),
        call("search", keywords="red shoes"),  # its result was too long
        *(call(direction="Left"), {"role": "tool", "content": f"board\n\n{over}"}),
        *(call(direction="Down"), {"role": "tool", "content": over}),
    ]
    row = {"prompt": [{"role": "user", "content": "Play."}], "seed": 1}
    path = write(tmp_path, {**row, "completion": completion, "MoveEnv": 1.5, "r": 2.0})
    (episode,) = read_episodes(path, id="roll_vec/WebShop-v0")
    assert episode.answers == ["Up", "search[red shoes]", "Left"]
    assert episode.prompts == [f"Play.\n\n{wrong}", "board", ""]
    assert (episode.total_reward, episode.fault) == (1.5, None)


def test_completions_without_tools(tmp_path):
    chat = [{"role": "assistant", "content": [{"type": "text", "text": "1 + 1"}]}]
    rows = [
        {"prompt": "Count.", "completion": "2 + 2", "seed": 5, "r": 0.5},
        {"prompt": chat, "completion": chat, "seed": 5, "r": None},
    ]
    path = tmp_path / "file.json"
    path.write_text(json.dumps(rows, indent=1), "utf-8")
    text, message = read_episodes(path, id="roll_vec/Countdown-v0")
    assert (text.answers, text.prompts, text.total_reward) == (
        ["2 + 2"],
        ["Count."],
        0.5,
    )
    assert (message.answers, message.place) == (["1 + 1"], "row 2")


# ------------------------------------------------------------- dumps of our adapters


def test_rows_of_our_adapters_play_the_episode_again(tmp_path):
    env = environment_factory(SOKOBAN, max_episode_steps=3, **ROOM)()
    env.reset(seed=1001)
    for direction in ("Left", "banana", "Down", "Up"):
        env.move(direction)
    row = {"prompt": "Play.", "completion": [call(direction="Left")]}
    assert log_episodes([env], lambda name, values: row.update({name: values[0]})) == [
        None
    ]
    (episode,) = read_episodes(write(tmp_path, row))
    assert play([episode])[0][0] == episode.rewards == [-0.1, -0.6, 10.9]

    envs = build_sokoban_envs(
        3,
        2,
        2,
        "tiny_rgb_array",
        env_kwargs={"dim_room": (5, 5), "num_boxes": 1, "max_steps": 2},
    )
    lines = []
    for _ in range(2):
        boards, _ = envs.reset()
        for number, text in ((2, "down"), (0, "still")):
            facts = envs.episode_facts()
            _, rewards, _, _ = envs.step([number] * 4)
            lines += [
                {
                    "input": boards[i],
                    "output": f"<action>{text}</action>",
                    "score": 0.0,
                    "traj_uid": f"{len(lines) // 8}{i}",
                    "roll_vec": facts[i],
                    "rewards": rewards[i],
                }
                for i in range(4)
            ]
    envs.close()
    # Rows are in no order, and some stand there twice.
    random.Random(0).shuffle(lines)
    episodes = read_episodes(write(tmp_path, *lines, *lines[:3]))
    assert len(episodes) == 8
    assert len({episode.seed for episode in episodes}) == 4
    assert [each for each, _ in play(episodes)] == [each.rewards for each in episodes]

    env = GemSokobanNativeEnv(max_steps=4, **ROOM)
    messages, _ = env.reset(seed=12)
    rewards = []
    for answer in ("<answer>Up</answer>", "Up", "<answer>Down</answer>"):
        messages, reward, *_ = env.step(answer)
        rewards.append(reward)
    info = {**env.env_info, "seed": 0, "episode_id": 0}
    trajectory = {"env_info": info, "reward_info": {"step_rewards": [*rewards, 0.0]}}
    trajectory["failure_info"] = {"stop_reason": "MAX_LENGTH"}
    chat = [json.dumps([messages])]
    columns = {"trajectory_data": [json.dumps(trajectory)], "messages": chat}
    (episode,) = read_episodes(write(tmp_path, columns))
    assert (episode.seed, episode.fault) == (12, "MAX_LENGTH")
    assert play([episode])[0][0] == episode.rewards == rewards


# ------------------------------------------------------------------------ bad input

GOOD = {"id": SOKOBAN, "seed": 1, "answers": ["Up", "Down"]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({**GOOD, "seed": None}, "seed: expected an int from 0 on, but there is none"),
        ({**GOOD, "seed": -1}, "seed: expected an int from 0 on, got -1"),
        ({**GOOD, "seed": True}, "seed: expected an int"),
        ({**GOOD, "seed": 1.0}, "seed: expected an int"),
        ({**GOOD, "answers": "Up"}, "answers: expected a list of answers"),
        ({**GOOD, "answers": [{}]}, "answers: expected a list of answers"),
        ({**GOOD, "answers": [None]}, "answers: expected a list of answers"),
        ({**GOOD, "rewards": [1.0]}, "rewards: expected 2, one for each answer, got 1"),
        (
            {**GOOD, "rewards": [1.0, float("nan")]},
            "rewards: expected a list of finite",
        ),
        ({**GOOD, "return": 10**400}, "return: expected a finite number"),
        ({**GOOD, "success": 1}, "success: expected true or false, got 1"),
        ({**GOOD, "length": 3}, "length: expected 2, the number of answers, got 3"),
        ({**GOOD, "reward": 1.0}, "'reward': expected one of id, tag"),
        ({**GOOD, "id": "os:system"}, "id: expected a registered id, got 'os:system'"),
        ({**GOOD, "id": "Sokoban"}, "id: expected a registered id"),
        ({**GOOD, "id": None}, "pass id=, or --id to a command"),
        ({**GOOD, "id": None, "tag": "x"}, "tag: expected a tag of a line before"),
        ({**GOOD, "keywords": [1]}, "keywords: expected an object"),
        ([1], "JSON: expected an object, got [1]"),
        (7, "JSON: expected an object, got 7"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    path = write(tmp_path, GOOD, line)
    with pytest.raises(InvalidFileError) as caught:
        read_episodes(path)
    assert str(caught.value).startswith(f"{str(path)!r}: line 2: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected episodes, got an empty file"),
        (b"\n\n", "expected episodes, got an empty file"),
        (b"\x80\x04K\x01.", "line 1: JSON: expected an object, but it is broken"),
        (b"PAR1 and nothing", "expected a whole Parquet file"),
        (b"[" * 100_000, "line 1: JSON: expected a list of objects, but"),
        (b'{"a": ' + b"9" * 5000 + b"}", "line 1: JSON: expected an object, but"),
        (b'{"a": 1}', "expected an object of one of the formats roll, verl_agent"),
        (b'{"format": "roll-vec eval"}', "this one is of roll-vec eval"),
        (b"x" * 5000, "line 1: JSON: expected at most 4,096 bytes in a line"),
    ],
)
def test_a_bad_file_is_one_error(tmp_path, monkeypatch, content, message):
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    if len(content) == 5000:
        monkeypatch.setattr(rows, "MAX_LINE_BYTES", 4096)
    with pytest.raises(InvalidFileError, match=r"file\.jsonl") as caught:
        read_episodes(path)
    assert message in str(caught.value)


def test_what_is_no_file_of_a_format(tmp_path, monkeypatch):
    for path, message in ((tmp_path, "a directory"), (tmp_path / "no", "No such file")):
        with pytest.raises(InvalidFileError, match=message):
            read_episodes(path)
    with pytest.raises(InvalidOptionError, match="format: expected one of"):
        read("roll.jsonl", format="rolls")
    with pytest.raises(InvalidFileError, match="line 1: traj_uid: expected a text"):
        read("verifiers.jsonl", format="verl_agent")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"roll-vec\[parquet\]"):
        read("trl.parquet")


@pytest.mark.parametrize("name", WRITERS)
def test_half_a_file_is_an_error(tmp_path, name):
    content = (DATA / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[: len(content) // 2 + 100])
    with pytest.raises(InvalidFileError, match=r"line \d|Parquet"):
        read_episodes(path, **TASKS.get(name, {}))


def places_of(value, place=()):
    """Yield the place of each value within one of JSON."""
    yield place
    parts = value.items() if isinstance(value, dict) else ()
    parts = enumerate(value) if isinstance(value, list) else parts
    for key, part in parts:
        yield from places_of(part, (*place, key))


def replace(value, place, new):
    """Return a copy with another value at a place; an Ellipsis: without it."""
    if not place:
        return new
    value = copy.copy(value)
    part = replace(value[place[0]], place[1:], new)
    if part is ...:
        del value[place[0]]
    else:
        value[place[0]] = part
    return value


@pytest.mark.parametrize("name", [name for name in WRITERS if name.endswith("jsonl")])
def test_a_wrong_value_anywhere_raises_no_other_error(tmp_path, name):
    lines = (DATA / name).read_text("utf-8").splitlines()
    first, path, rng = json.loads(lines[0]), tmp_path / name, random.Random(0)
    texts = ("trajectory_data", "messages") if name == "roll.jsonl" else ()
    for column in texts:  # JSON within JSON
        first[column] = [*map(json.loads, first[column])]
    num_errors = 0
    for place in places_of(first):
        for new in rng.sample(
            (..., None, -1, 10**30, "x", [], [[]], {}, True, [None]), 3
        ):
            line = replace(first, place, new)
            if isinstance(line, dict):
                for column in texts:
                    if isinstance(line.get(column), list):
                        line[column] = [*map(json.dumps, line[column])]
            line = None if line is ... else line
            path.write_text("\n".join([json.dumps(line), *lines[1:]]), "utf-8")
            try:
                read_episodes(path, name.partition(".")[0])
            except InvalidFileError:
                num_errors += 1
    assert num_errors > 15
