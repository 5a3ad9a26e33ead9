"""`roll-vec eval` and `roll-vec export`: their output, files, endpoints, resumption."""

import json
import re
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from pyarrow import parquet

from roll_vec.evaluation import find_split
from roll_vec.evaluation.result_files import read_results
from roll_vec.seeding import episode_seed
from tests.cli.conftest import changed_run
from tests.cli.small_envs import SILENT
from tests.evaluation.chat_server import ChatServer, Reply
from tests.thinning import one_in

LAKE, ONE_LAKE = "roll_vec/RandomFrozenLake-v0", "roll_vec/FrozenLake-v1"
COUNTDOWN = "roll_vec/Countdown-v0"
MODES = ["NextStep", "SameStep", "Disabled"]
LAKE_TEST = ("eval", "run", LAKE, "--split", "test-no-slip")
TAGS = "action_pattern=<answer>(.*?)</answer>"
# A policy of the user, which interrupts its third call.
BY_TURN = """
calls = 0
def act(turn):
    global calls
    calls += 1
    if calls == 3:
        raise KeyboardInterrupt
    return 1 + (turn.episodes + turn.steps) % 4
"""


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-4567")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_digest_is_checked(run, monkeypatch):
    split = find_split(COUNTDOWN, "test")
    monkeypatch.setattr(type(split), "compute_digest", lambda split: "0" * 64)
    outcome = run("eval", "check", COUNTDOWN, "--split", "test")
    assert outcome.code == 1
    assert f"is {'0' * 64} and not {split.digest}" in outcome.err


def test_a_callable_gets_turns_and_an_interrupted_evaluation_goes_on(run, policy_of):
    policy = policy_of(BY_TURN)
    command = (*LAKE_TEST, "--num-episodes", 30, "--policy", policy, "--out")
    outcome = run(*command, "a", "--num-envs", 4)
    assert outcome.code == 130
    match = re.search(r"interrupted after (\d+) of 30 episodes; the same", outcome.err)
    assert len(read_results("a").records) == int(match[1]) < 30
    for name, num_envs in (("a", 4), ("b", 30)):
        assert run(*command, name, "--num-envs", num_envs).code == 0
    assert Path("a").read_bytes() == Path("b").read_bytes()
    assert "platform" not in read_results("a").header.versions


def test_a_model_behind_an_endpoint_is_evaluated(run):
    pytest.importorskip("openai")
    is_down = True

    def reply(request, _):
        if is_down:
            return Reply(status=400, body=b'{"error": {"message": "down"}}')
        return Reply("<answer>1 + 1</answer>")

    with ChatServer(reply) as server:
        command = ("eval", "run", COUNTDOWN, "--split", "test", "--policy", server.url)
        command += ("--model", "m", "--num-episodes", 3, "--out", "a")
        outcome = run(*command, "--concurrency", 2)
        assert outcome.code == 1
        assert "all 3 episodes ended by faults" in outcome.err
        # Versions of openai quote the message, or the whole object around it.
        assert re.search("400 - .*down", outcome.table["first fault"])
        assert run("eval", "verify", "a").table["score"].endswith(", 3 faults")
        is_down = False
        assert run(*command).code == 1
        outcome = run(*command, "--retry-faults")
        assert outcome.code == 0
        assert outcome.table["faults"] == "0"
        is_down = True
    text = Path("a").read_text("utf-8")
    assert "secret" not in text + outcome.err
    header = json.loads(text.splitlines()[0])
    model = {"model": "m", "temperature": 0.0, "max_tokens": None, "history": None}
    assert header["policy"] == {"name": server.url, **model}
    assert f"action_pattern={header['keywords']['action_pattern']}" == TAGS


def test_options_of_requests_are_in_the_file_of_results(run, fails):
    pytest.importorskip("openai")
    options = ("--temperature", "none", "--instruction-role", "user", "--extra-body")
    body = {"max_completion_tokens": 99, "seed": 1}
    with ChatServer(lambda *_: Reply("<answer>1 + 1</answer>")) as server:
        command = ("eval", "run", COUNTDOWN, "--split", "test", "--policy", server.url)
        command += ("--model", "m", "--num-episodes", 1, "--out", "a", "--quiet")
        assert run(*command, *options, json.dumps(body)).code == 0
        (request,) = server.requests
        error = fails(*command, *options, '{"seed": 2}')
        assert "extra_body={'max_completion_tokens': 99, 'seed': 1}" in error
    (message,) = request.pop("messages")
    assert message["role"] == "user"
    assert "\n\nTarget: " in message["content"]
    assert request == {"model": "m", **body}
    facts = {"name": server.url, "model": "m", "temperature": None, "max_tokens": None}
    facts |= {"extra_body": body, "instruction_role": "user", "history": None}
    assert read_lines("a")[0]["policy"] == facts


def read_lines(path):
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def test_an_interrupted_export_leaves_nothing(run, policy_of):
    policy = policy_of(BY_TURN.replace("return ", "return -1 + "))
    rows = ("--num-rows", 9, "--policy", policy, "--out", "rows.parquet")
    outcome = run("export", ONE_LAKE, *rows, "--format", "parquet")
    assert outcome.code == 130
    assert re.search(r"interrupted after \d of 9 rows; nothing is writ", outcome.err)
    assert not [*Path().glob("*rows*")]


def test_a_language_model_is_exported_and_failures_are_left_out(run):
    pytest.importorskip("openai")
    broken = []

    def reply(request, count):
        question = request["messages"][-1]["content"]
        if question in broken:
            return Reply(status=400)
        return Reply(f"I think: <answer>{len(question)}</answer>")

    with ChatServer(reply) as server:
        arguments = (
            *("export", COUNTDOWN, "--policy", server.url, "--model", "tiny"),
            *("-o", TAGS, "--concurrency", 1, "--num-rows", 6, "--out"),
        )
        outcome = run(*arguments, "whole.jsonl")
        assert outcome.code == 0, outcome.err
        rows = read_lines("whole.jsonl")
        broken.append(rows[4]["messages"][1]["content"])
        outcome = run(*arguments, "rows.jsonl")
        assert outcome.out.startswith("left out: 1 episodes that ended by an error\n")
    others = read_lines("rows.jsonl")
    assert [row["seed"] for row in others] == [0, 1, 2, 3, 5, 6]
    assert others[:4] == rows[:4]
    for row in rows:
        _, question, answer = row["messages"]
        length = len(question["content"])
        assert answer["content"] == f"I think: <answer>{length}</answer>"
    # The server has gone.
    outcome = run(*arguments, "no.jsonl", "--retries", 0)
    assert (outcome.code, Path("no.jsonl").exists()) == (1, False)
    assert "all of 6 episodes ended by an error: APIConnectionError" in outcome.err


SMALL = ("--num-envs", 4, "--quiet", "--out", "run.npz")


LONG = LAKE, ("-o", "max_episode_steps=9"), 270, [0, 1, 2, 3]
GROUPS = COUNTDOWN, ("-o", "max_steps=2", "-o", "group_size=2"), 24, [0, 0, 1, 1]


@one_in(3, "case, mode", {"long": LONG, "groups": GROUPS}, [*MODES[1:], MODES[0]])
def test_each_episode_of_a_run_replays_alone(run, case, mode):
    env_id, options, steps, first_seeds = case
    size = (*SMALL, "--steps", steps, "--autoreset", mode)
    assert run("rollout", env_id, *size, *options).code == 0
    out = ("--format", "parquet", "--out", "rows.parquet")
    outcome = run("export", "run.npz", *out)
    assert outcome.code == 0, outcome.err
    with np.load("run.npz") as saved:
        order = np.argsort(saved["env_index"], kind="stable")
        columns = {name: saved[name][order] for name in ("returns", "success")}
        firsts = np.flatnonzero(np.diff(saved["env_index"][order], prepend=-1))
    assert len(order) > 20
    rows = parquet.read_table("rows.parquet").to_pylist()
    assert [row["return"] for row in rows] == columns["returns"].tolist()
    assert [row["success"] for row in rows] == columns["success"].astype(bool).tolist()
    assert [rows[i]["seed"] for i in firsts] == first_seeds
    assert rows[1]["seed"] == episode_seed(0, 1)
    for row in rows:
        env = gymnasium.make(env_id, **json.loads(row["keywords"]))
        observations = [env.reset(seed=row["seed"])[0]]
        observations += [env.step(action)[0] for action in row["actions"]]
        assert np.array_equal(observations, row["observations"])


CRANKY = """
import roll_vec

class Cranky(roll_vec.BaseLanguageBasedEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.level_seed == 2:
            raise RuntimeError("not today")
        return f"{self.level_seed}", {}

    def step(self, action):
        if self.level_seed == 1:
            raise RuntimeError("no more")
        return "", 1.0, True, False, {"success": self.level_seed != 3}

roll_vec.register("cranky/Cranky-v0", Cranky)
"""


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
@pytest.mark.usefixtures("forgets_ids")
def test_episodes_after_a_reset_that_failed_have_no_seed(run, tmp_path):
    (tmp_path / "cranky.py").write_text(CRANKY)
    id = "cranky:cranky/Cranky-v0"
    run("rollout", id, *SMALL, "--steps", 30, "--policy", SILENT)
    export = ("export", "run.npz", "--format", "parquet", "--out")
    outcome = run(*export, "rows.parquet")
    some = run(*export, "some.parquet", "--only-success")
    del sys.modules["cranky"]
    line = "left out: 1 episodes that ended by an error\n"
    assert outcome.out.startswith(line)
    assert some.out.startswith(f"left out: 1 episodes without success\n{line}")
    rows = parquet.read_table("rows.parquet").to_pylist()
    begins = [(row["seed"], row["observations"][0]) for row in rows]
    assert {text for seed, text in begins if seed is not None} >= {"0", "3"}
    assert all(seed is None or str(seed) == text for seed, text in begins)
    assert begins.count((None, str(episode_seed(2, 1)))) == 1


def test_runs_that_cannot_be_exported_are_refused(run, fails):
    run("rollout", COUNTDOWN, *SMALL, "--steps", 3, "--seed", 1 << 63)
    message = f"seeds up to {(1 << 63) - 1}, got {1 << 63}"
    assert message in fails("export", "run.npz", "--out", "rows.jsonl")
    run("rollout", LAKE, *SMALL, "--steps", 3)
    assert "argument --format: messages needs obs" in fails(
        "export", "run.npz", "--out", "rows.jsonl"
    )
    with changed_run() as (_, arrays):
        arrays["rewards"][1, 2] = 7.0
    more = ("--format", "parquet", "--out", "rows.parquet")
    assert "rewards differ at step 2" in fails("export", "run.npz", *more)
    assert not [*Path().glob("*rows*")]


def test_a_newcomer_sees_what_is_wrong_with_a_file(run):
    assert run(*LAKE_TEST, "--num-episodes", 9, "--out", "a", "--quiet").code == 0
    text = Path("a").read_text("utf-8")
    Path("lie").write_text(text.replace('"success":false', '"success":true', 1))
    Path("damaged").write_text(text.replace('"return"', '"retrun"', 1))
    Path("old").write_text(text.replace('"version": 2', '"version": 1', 1))
    outcome = run("eval", "verify", "lie", "a", "damaged", "old")
    assert outcome.code == 1
    lie, same, damaged, old = re.split(r"\n(?=\S)", outcome.out)
    assert lie.startswith("different: lie: roll_vec/RandomFrozenLake-v0 test-no-slip")
    rows = dict(re.findall(r"(?m)^  (\S.*?)  +(\S.*)$", lie))
    assert [rows[name] for name in ("field", "in the file", "here")] == [
        *("success", "True", "False"),
    ]
    assert rows["that is"] == "played again, the episode does not end so"
    assert rows["in all"].startswith("1 episode with a difference (success 1): ")
    assert rows["score in the file"] != rows["score here"]
    assert same.startswith("same: a: ")
    assert re.match(r"not verified: damaged\n .* line \d: no 'return'", damaged)
    assert old.startswith("not verifiable: old")
    assert "files of version 1 have no answers" in old
    assert run("eval", "verify", "damaged", "--quiet").code == 1


def test_results_of_a_module_of_the_user_name_it(run, fails, user_module):
    id = f"{user_module}:mine/Corridor-v0"
    more = ("--num-episodes", 3, "--out", "a", "--quiet")
    assert run("eval", "run", id, "--split", "test", *more).code == 0
    assert run("eval", "verify", "a", "--id", id).out.startswith("same: a: mine/")
    assert "results of mine/Corridor-v0" in fails("eval", "verify", "a", "--id", LAKE)
    text = Path("a").read_text("utf-8")
    Path("b").write_text(text.replace("Corridor", "Road"))
    outcome = run("eval", "verify", "b")
    assert outcome.code == 1
    assert "(--id MODULE:mine/Road-v0)" in outcome.table["reason"]
