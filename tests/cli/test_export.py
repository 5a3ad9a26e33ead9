"""roll-vec export: files, the lines about them, interruptions, errors."""

import json

import pytest
from pyarrow import parquet

import roll_vec.cli.export as command
from tests.evaluation.chat_server import ChatServer, Reply

LAKE = "roll_vec/FrozenLake-v1"
COUNTDOWN = "roll_vec/Countdown-v0"


def read_lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_oracle_answers_in_tags_and_each_row_replays(run, tmp_path):
    outcome = run(
        *("export", LAKE, "--num", 5, "--out", "rows.jsonl", "--only-success"),
        *("--verify", "--seed", 40),
    )
    assert outcome.code == 0, outcome.err
    left_out, line, verified = outcome.out.splitlines()
    rows = read_lines(tmp_path / "rows.jsonl")
    episodes = rows[-1]["seed"] - 40 + 1
    assert left_out == f"left out: {episodes - 5} episodes without success"
    assert line.startswith("rows.jsonl: 5 rows, 5 successes, mean return 1, ")
    assert verified == "verified: 5 rows replay to the bit"
    answer = rows[0]["messages"][2]
    assert answer["role"] == "assistant"
    assert answer["content"] in {
        f"<answer>{name}</answer>" for name in ("Left", "Down", "Right", "Up")
    }
    assert answer["content"].count("<answer>") == 1


def test_one_row_is_a_singular(run):
    outcome = run("export", COUNTDOWN, "--num", 1, "--out", "a.jsonl", "--verify")
    line, verified = outcome.out.splitlines()
    assert line.startswith("a.jsonl: 1 row, 1 success, mean return 1, ")
    assert verified == "verified: 1 row replays to the bit"


@pytest.mark.parametrize("policy", ["oracle", "random", "constant:1+1", "mine:answer"])
def test_policies_do_not_depend_on_the_batch(run, tmp_path, policy):
    (tmp_path / "mine.py").write_text("answer = lambda texts: [t[8:10] for t in texts]")
    for num_envs in (1, 7):
        outcome = run(
            *("export", COUNTDOWN, "--policy", policy, "--num", 9),
            *("--num-envs", num_envs, "--out", f"{num_envs}.jsonl", "-o", "workers=0"),
        )
        assert outcome.code == 0, outcome.err
    one, seven = (tmp_path / f"{n}.jsonl" for n in (1, 7))
    assert one.read_bytes() == seven.read_bytes()
    assert [row["seed"] for row in read_lines(one)] == [*range(9)]


def test_the_command_goes_on_after_ctrl_c(run, tmp_path, monkeypatch):
    arguments = ("export", LAKE, "--num", 9, "--policy", "random", "--out")
    assert run(*arguments, "whole.jsonl").code == 0

    def export(*positional, on_progress, **keywords):
        def stop(totals):
            on_progress(totals)
            if totals.rows == 4:
                raise KeyboardInterrupt

        return original(*positional, on_progress=stop, **keywords)

    original = command.export
    monkeypatch.setattr(command, "export", export)
    outcome = run(*arguments, "rows.jsonl")
    assert outcome.code == 130
    assert outcome.err == (
        "roll-vec: interrupted after 4 of 9 rows; the same command goes on\n"
    )
    monkeypatch.setattr(command, "export", original)
    outcome = run(*arguments, "rows.jsonl", "--seed", 1)
    assert outcome.code == 2
    assert "start_seed was 0, and is now 1" in outcome.err
    outcome = run(*arguments, "rows.jsonl")
    assert outcome.out.startswith("went on after 4 rows\nrows.jsonl: 9 rows, ")
    files = (tmp_path / name for name in ("whole.jsonl", "rows.jsonl"))
    assert len({file.read_bytes() for file in files}) == 1


def test_a_recorded_run_is_exported(run, tmp_path):
    run(
        *("rollout", LAKE, "--num-envs", 3, "--steps", 40, "--save", "run.npz"),
        *("--no-image", "--quiet", "-o", "group_size=3"),
    )
    outcome = run(
        "export", "run.npz", "--format", "parquet", "--out", "r.parquet", "--verify"
    )
    assert outcome.code == 0, outcome.err
    rows = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    # FrozenLake-v1 goes on with one generator: the first episodes have a seed.
    firsts = [row for row in rows if row["seed"] is not None]
    assert [row["seed"] for row in firsts] == [0, 0, 0]
    assert len(rows) > 3
    assert outcome.out.splitlines()[-1] == (
        f"verified: 3 rows replay to the bit; {len(rows) - 3} rows have no seed that "
        "begins them"
    )


def test_environments_that_do_not_say_success_are_verified(run, user_module, tmp_path):
    id = f"{user_module}:mine/Echo-v0"
    policy = ("--policy", "constant:silent")
    size = ("--num-envs", 2, "--steps", 7, "--no-image", "--quiet")
    run("rollout", id, *policy, *size, "--save", "RUN.NPZ")
    for source, arguments in (("RUN.NPZ", ()), (id, (*policy, "--num", 2))):
        out = ("--out", "rows.jsonl", "--verify", "--overwrite")
        outcome = run("export", source, *arguments, *out)
        assert outcome.code == 0, outcome.err
        rows = read_lines(tmp_path / "rows.jsonl")
        assert {row["success"] for row in rows} == {None}


def test_seeds_that_readers_would_round_are_refused(run, tmp_path):
    seed = 1 << 63
    run(
        *("rollout", COUNTDOWN, "--num-envs", 2, "--steps", 3, "--save", "run.npz"),
        *("--no-image", "--quiet", "-o", "workers=0", "--seed", seed),
    )
    outcome = run("export", "run.npz", "--out", "rows.jsonl")
    assert outcome.code == 2
    assert f"episodes with seeds up to {seed - 1}, got {seed}" in outcome.err


def test_a_language_model_is_exported_and_goes_on_after_a_failure(run, tmp_path):
    broken = []

    def reply(request, count):
        question = request["messages"][-1]["content"]
        if question in broken:
            return Reply(status=400)
        return Reply(f"I think: <answer>{len(question)}</answer>")

    with ChatServer(reply) as server:
        arguments = (
            *("export", COUNTDOWN, "--policy", server.url, "--model", "tiny"),
            *("-o", "action_pattern=<answer>(.*?)</answer>", "-o", "workers=0"),
            *("--concurrency", 1, "--num", 6, "--verify", "--out"),
        )
        outcome = run(*arguments, "whole.jsonl")
        assert outcome.code == 0, outcome.err
        rows = read_lines(tmp_path / "whole.jsonl")
        broken.append(rows[4]["messages"][1]["content"])
        outcome = run(*arguments, "rows.jsonl")
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err.startswith("roll-vec: error: ")
        assert outcome.err.endswith(", after 4 rows\n")
        assert not (tmp_path / "rows.jsonl").exists()
        outcome = run(*arguments, "rows.jsonl", "--temperature", 1)
        assert outcome.code == 2
        assert "endpoint was" in outcome.err
        broken.clear()
        asked = len(server.requests)
        outcome = run(*arguments, "rows.jsonl")
        assert len(server.requests) - asked == 2
    files = (tmp_path / name for name in ("whole.jsonl", "rows.jsonl"))
    assert len({file.read_bytes() for file in files}) == 1
    assert outcome.out.splitlines()[-1] == "verified: 6 rows replay to the bit"
    for row in rows:
        _, question, answer = row["messages"]
        assert answer["content"] == (
            f"I think: <answer>{len(question['content'])}</answer>"
        )


def test_a_changed_row_is_a_failure(run, tmp_path):
    run("export", LAKE, "--num", 2, "--policy", "random", "--out", "rows.jsonl")
    path = tmp_path / "rows.jsonl"
    path.write_text(path.read_text().replace('"return": 0.0', '"return": 0.5'))
    outcome = run("export", "rows.jsonl", "--verify")
    assert (outcome.code, outcome.out) == (1, "")
    assert "row 0 (seed 0): return is" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((LAKE,), "argument --out: expected the path of the file to write"),
        ((LAKE, "--out", "x.txt"), "argument --out: expected a name that ends with"),
        ((LAKE, "--out", "no/x.jsonl"), "argument --out: expected a path in a folder"),
        (("CartPole-v1", "--out", "x.jsonl"), "argument ID: expected an id of this"),
        ((LAKE, "--out", "x.jsonl", "-o", "sise=4"), "'sise'"),
        (
            (LAKE, "--out", "x.jsonl", "-o", "obs_mode=grid"),
            "argument --format: messages needs observations that are texts",
        ),
        ((LAKE, "--out", "x.jsonl", "--policy", "best"), "argument --policy"),
        (
            (
                LAKE,
                "--out",
                "x.parquet",
                "--format",
                "parquet",
                "--policy",
                "numpy:invert",
            ),
            "argument --policy: actions: expected 0 to 3, got",
        ),
        (
            (LAKE, "--out", "x.jsonl", "--policy", "http://localhost:1/v1"),
            "--model: expected the name of the model",
        ),
        (("no.npz", "--out", "x.jsonl"), "argument FILE: cannot read 'no.npz'"),
        (("no.jsonl", "--verify"), "argument FILE: cannot read 'no.jsonl'"),
    ],
)
def test_errors_are_one_line(fails, tmp_path, arguments, text):
    assert text in fails("export", *arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"keywords": "[]"}, "row 0: keywords of no export: []"),
        ({"keywords": '{"num_envs": 3}'}, "row 0: keywords of no export"),
        ({"seed": True}, "row 0: seed of no export: True"),
        ({"rewards": None}, "row 0: rewards of no export: None"),
        ({"rewards": [[1.0]]}, "row 0: rewards of no export: [[1.0]]"),
    ],
)
def test_rows_that_no_export_writes_are_refused(run, fails, tmp_path, values, message):
    path = tmp_path / "rows.jsonl"
    export = ("export", "roll_vec/Countdown-v0", "--num", 1, "--out", path, "--quiet")
    assert run(*export).code == 0
    row = {**json.loads(path.read_text()), **values}
    path.write_text(json.dumps(row) + "\n")
    assert f"{path}: {message}" in fails("export", path, "--verify", "--quiet")
    path.write_text("[" * 100_000 + "\n")
    line = fails("export", path, "--verify", "--quiet")
    assert f"{path}, line 1: no row of format messages" in line
