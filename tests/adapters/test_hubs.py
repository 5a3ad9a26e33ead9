"""Folders for hubs, and the checks of OpenEnv's validation that it does not grade.

OpenEnv 0.10 names these checks: seed_control and so on.  Those that it grades are in
tests/frameworks/openenv/compare.py.
"""

import asyncio
import hashlib
import importlib
import json
import os
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from roll_vec.errors import InvalidOptionError, ResetNeededError, SessionsFullError
from roll_vec.evaluation import UniformPolicy, find_split, play_split
from tests.conftest import ROOT
from tests.evaluation.chat_server import ChatServer, Reply

SOKOBAN, NAME = "roll_vec/Sokoban-v0", "roll_vec_sokoban"
NAMES = ["Up", "Down", "Left", "Right", "I do not know"]
MOVES = np.random.default_rng(0).choice(NAMES, 30).tolist()
LAKE_MOVES = ["Left", "Down", "Right", "Up"]
HIGH, FLOOR = 10.9, -0.1


@pytest.fixture(scope="module")
def write_folder():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "examples"))
        yield importlib.import_module("hub_folder").write_folder
        del sys.modules["hub_folder"]


@pytest.fixture(scope="module")
def folder(write_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("openenv")
    write_folder("openenv", folder, SOKOBAN, "test-1-box")
    return folder


@pytest.fixture
def app(stand_ins, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", ModuleType("uvicorn"))
    app = runpy.run_path(str(folder / "server" / "app.py"))["app"]
    yield app
    app.state.sessions.close()


def play(app, answers, env=None, **reset):
    """Return the results of an episode, that of the reset first."""
    env = env or app.env()
    results = [env.reset(**reset)]
    for answer in answers:
        if not results[-1].done:
            results.append(env.step(app.action_cls(action=answer)))
    return [vars(each) for each in results]


def read(folder, name):
    return json.loads((folder / name).read_text("utf-8"))


def test_seed_control_episode_determinism_and_cross_host_determinism(app):
    episodes = [play(app, MOVES, seed=seed) for seed in (*range(20), 3)]
    assert episodes.pop() == episodes[3]
    assert len({episode[0]["observation"] for episode in episodes}) == 20
    digest = hashlib.sha256(json.dumps(episodes).encode()).hexdigest()
    assert digest[:16] == "1b43ba0e749b01c7"


def test_episode_isolation(app):
    expected = [play(app, MOVES, seed=seed) for seed in range(4)]
    envs = [app.env() for _ in expected]
    results = [[vars(env.reset(seed=seed))] for seed, env in enumerate(envs)]
    for answer in MOVES:
        for env, before in zip(envs, results, strict=True):
            if not before[-1]["done"]:
                before.append(vars(env.step(app.action_cls(action=answer))))
    assert results == expected
    assert play(app, MOVES, envs[0], seed=1) == expected[1]


def test_task_declaration_accuracy(app, folder):
    text = (folder / "openenv.yaml").read_text("utf-8")
    declared = json.loads(re.search("declared_task_count: (.*)", text)[1])
    env = app.env()
    names = [split["name"] for split in env.list_splits()]
    assert {name: env.num_tasks(name) for name in names} == declared
    assert declared == {"train": 1_000_000, "test-1-box": 1000}
    for name, count in declared.items():
        *_, task = env.get_task_range(name, count - 2)
        by_task = play(app, MOVES, split=name, index=count - 1)
        assert by_task == play(app, MOVES, seed=task["seed"])
        assert len(env.list_tasks(name)) == 1000
        for index in (count, -1, True, None):
            with pytest.raises(IndexError, match="index"):
                env.get_task(name, index)
    for words in ({"split": "absent", "index": 0}, {"index": 0}, {"split": []}):
        with pytest.raises(IndexError, match="one of train, test-1-box"):
            env.reset(**words)
    with pytest.raises(InvalidOptionError, match="seed"):
        env.reset(seed=1, split="train", index=0)


def test_trajectory_record_and_replayability(app, folder):
    record = json.dumps(play(app, MOVES, seed=9))
    other = runpy.run_path(str(folder / "server" / "app.py"))["app"]
    assert json.loads(record) == play(other, MOVES, seed=9)
    other.state.sessions.close()


def test_host_containment_and_resource_bounds(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = ["$(touch a)", "; touch b", "__import__('os').mkdir('c')", "../../etc"]
    results = play(app, answers * 100, seed=0)
    assert {step["reward"] for step in results[1:]} == {FLOOR}
    assert not list(tmp_path.iterdir())
    assert len(results) == 1 + 100
    monkeypatch.setattr("roll_vec.adapters.openenv._SECONDS_TO_WAIT", 0)
    connections = [app.env() for _ in range(app.state.sessions.num_envs)]
    for connection in connections:
        connection.reset()
    with pytest.raises(SessionsFullError):
        app.env().reset()


def test_oracle_containment(app, folder):
    lines = (folder / "Dockerfile").read_text("utf-8").splitlines()
    assert not [line for line in lines if re.match("(COPY|ADD).*(oracle| [.] )", line)]
    # A state that an agent sets has what its actions earn, and no more.
    result = app.env().reset(injected_state={"seed": 3, "actions": MOVES[:5]})
    assert vars(result) == play(app, MOVES[:5], seed=3)[-1]
    for state in (None, [], {"seed": 3}, {"actions": "Up"}):
        with pytest.raises(InvalidOptionError, match="injected_state"):
            app.env().reset(injected_state=state)
    env = app.env()
    env.reset(seed=3)
    with pytest.raises(InvalidOptionError, match="after the end"):
        env.reset(injected_state={"seed": 3, "actions": ["Up"] * 101})
    with pytest.raises(ResetNeededError):  # there is no half of a state
        env.step(app.action_cls(action="Up"))
    assert play(app, MOVES, env, seed=3) == play(app, MOVES, seed=3)


def test_oracle_max_verifier_determinism_and_portability(app, folder, monkeypatch):
    oracle = read(folder, "oracle/state.json")
    env, words = app.env(), {"seed": 5, "episode_id": "a", "injected_state": oracle}
    assert asyncio.run(env.reset_async(**words)).reward == HIGH
    monkeypatch.delattr(socket, "socket")
    for _ in range(20):
        result = env.reset(**words)
        assert (result.reward, result.done) == (HIGH, True)
    state = env.state
    assert (state.episode_id, state.seed, state.step_count) == ("a", oracle["seed"], 2)


def test_floor_gap_and_canary_floor(app, folder):
    for canary in read(folder, "validation/canaries.json"):
        first, *results = play(app, canary["actions"], seed=canary["seed"])
        assert first["reward"] is None
        assert {each["reward"] for each in results} == {FLOOR}


def test_no_solution_leakage(app):
    results = [play(app, [], seed=seed)[0] for seed in range(20)]
    assert {*"".join(each["observation"] for each in results)} == {*"#_O√XPS\n"} - {
        *"√S"
    }
    infos = [{**each["info"], "action_mask": None} for each in results]
    assert infos == [infos[0]] * 20


def test_difficulty_separation_headroom_reward_reachability_and_training_signal():
    def successes(name, seed=0):
        split = find_split(SOKOBAN, name)
        envs = split.make_vec(500)
        return play_split(split, envs, UniformPolicy(envs, seed=seed)).successes

    bands = [successes(f"test-{name}").mean() for name in ("easy", "medium", "hard")]
    assert 0.5 > bands[0] > bands[1] > bands[2]
    rates = np.mean([successes("test-1-box", seed) for seed in range(8)], 0)
    # Groups of eight rollouts whose advantages are not all zero.
    assert np.mean((rates > 0) & (rates < 1)) > 0.2


@pytest.mark.parametrize(
    ("id", "keywords", "start", "actions"),
    [
        ("RandomFrozenLake-v0", {"action_mode": "discrete"}, "<pre>", [1, 2, 3, 4]),
        ("FrozenLake-v1", {"obs_mode": "rgb", "png": True}, "<img ", LAKE_MOVES),
        ("FrozenLake-v1", {"obs_mode": "grid"}, "None", LAKE_MOVES),
        (
            "Sokoban-v0",
            {"num_boxes": 1, "action_mask": True},
            "<pre>###",
            ["Up", "Right"],
        ),
        ("Countdown-v0", {}, "<pre>Target: 31", []),
        ("WebShop-v0", {"num_products": 100}, "<pre>WebShop", []),
    ],
)
def test_the_page_shows_boards_and_legal_moves(stand_ins, id, keywords, start, actions):
    module = importlib.import_module("roll_vec.adapters.openenv")
    app = module.create_app(f"roll_vec/{id}", max_concurrent_envs=1, **keywords)
    env = app.env()
    shown = vars(env.reset(seed=1))
    assert str(env.render_web(shown)).startswith(start)
    choices = env.web_actions(shown)
    assert [message["action"] for _, message in choices] == actions
    assert {label for label, _ in choices} <= {*LAKE_MOVES}
    # Of a user's pool:
    env.web_actions({"info": {"available_actions": ["a"], "action_mask": 1}})
    if id == "WebShop-v0":
        page = vars(env.step(app.action_cls(action="search[red]")))
        assert ("click[next >]", {"action": "click[next >]"}) in env.web_actions(page)
    app.state.sessions.close()


@pytest.mark.parametrize("hub", ["openenv", "prime", "nemo_gym"])
def test_programs_of_a_folder_can_be_read(write_folder, tmp_path, hub):
    write_folder(hub, tmp_path, "roll_vec/Countdown-v0", "test")
    for path in tmp_path.rglob("*.py"):
        compile(path.read_text("utf-8"), str(path), "exec")


def stream(request, _):
    """Answer as a model that moves left, in the form that vf-eval asks for."""
    head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    delta = {"role": "assistant", "content": "Left"}
    choice = {"index": 0, "delta": delta, "finish_reason": "stop"}
    body = f"data: {json.dumps({**head, 'choices': [choice]})}\n\ndata: [DONE]\n\n"
    return Reply(body=body.encode(), headers={"Content-Type": "text/event-stream"})


def test_vf_eval_plays_the_package_for_prime(write_folder, tmp_path):
    pytest.importorskip("verifiers", reason="its command is vf-eval")
    write_folder("prime", tmp_path / NAME, SOKOBAN, "test-1-box")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path), "KEY": "x"}
    with ChatServer(stream) as server:
        command = (
            f"vf-eval {NAME} -n 2 -m m --push False --client.base-url {server.url} "
            "--client.api-key-var KEY --env.player.harness.id null "
            "--env.player.runtime.type subprocess --env.player.max-turns 3"
        )
        subprocess.run(command.split(), env=env, check=True, cwd=tmp_path)
    (traces,) = tmp_path.rglob("traces.jsonl")
    lines = traces.read_text("utf-8").splitlines()
    assert [json.loads(line)["ok"] for line in lines] == [True, True]


def test_nemo_gym_accepts_the_manifest_and_the_fixture(
    write_folder, tmp_path, monkeypatch
):
    reason = "it validates the manifest"
    module = pytest.importorskip("nemo_gym.environment.validation", reason=reason)
    from nemo_gym.verifier_fixture import exercise_verifier_fixture

    write_folder("nemo_gym", tmp_path, SOKOBAN, "test-1-box")
    monkeypatch.chdir(tmp_path)
    report = module.validate_environment(f"environments/{NAME}/manifest.yaml")
    assert not report.warnings
    fixture = runpy.run_path(f"resources_servers/{NAME}/app.py")["VERIFIER_FIXTURE"]
    words = {"reward_range": (0.0, 1.0), "determinism": "seeded"}
    assert len(asyncio.run(exercise_verifier_fixture(fixture, **words))) == 4
