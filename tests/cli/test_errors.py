"""Errors of the command line: one line that names the argument, and nothing written.

The first table needs no files; of the others each row is played beside some.
"""

import shlex
import sys

import pytest

from roll_vec.cli import main
from tests.cli.small_envs import LINE, NINES
from tests.gymnasium_versions import needs

ECHO = "user_envs:mine/Echo-v0"
LAKE = "roll_vec/RandomFrozenLake"
SPLIT = f"eval run {LAKE} --split test-no-slip"
CARTS = "rollout CartPole-v1 --num-envs 5"
PAGE = "watch roll_vec/FrozenLake-v1 --out page.html"
VIDEO = "watch roll_vec/FrozenLake-v1 --out video.gif"
RUN_PAGE = "watch run.npz --out page.html"

# Arguments, and a part of the message.
ERRORS = [
    # Words that are misspelt.
    ("fly", "argument COMMAND: invalid choice: 'fly' (choose from "),
    ("webshop indx", "(see roll-vec webshop --help)"),
    ("rollout roll_vec/Sokoban --step-s=3", "--step-s=3; did you mean --steps, or"),
    # The beginning of a name is none.
    ("rollout roll_vec/Sokoban --num 3", "--num 3; did you mean --num-envs, or the en"),
    ("rollout roll_vec/Sokobn-v0", "did you mean roll_vec/Sokoban-v0?"),
    ("play Sokoban", "no environment Sokoban; did you mean roll_vec/Sokoban-v0?"),
    # Values that are out of range, or no values.
    ("rollout roll_vec/Sokoban --steps many", "--steps: expected an integer from 1 up"),
    ("rollout roll_vec/Sokoban --autoreset no", "SameStep or Disabled, got 'no'"),
    ("rollout roll_vec/Sokoban -o num_boxes", "key=value, for example num_boxes=4"),
    ("rollout roll_vec/Sokoban -o num_envs=3", "num_envs cannot be an option: use --n"),
    ("rollout roll_vec/Sokoban -o boxes=3", "keyword argument 'boxes'; those that"),
    ("rollout roll_vec/Sokoban --out a.txt", "--out: expected a file name that ends i"),
    ("rollout roll_vec/Sokoban --out a.npz --out b.npz", "one file of a kind, got a.n"),
    (f"rollout {ECHO} --num-envs 4 --policy builtins:len", "returned int, expected a"),
    (f"warm {LAKE} Lake-v0", "no environment Lake-v0"),
    (f"warm {LAKE} -o slip=1", "keyword argument 'slip'; those that exist"),
    ("warm -o num_boxes=4", "argument -o: expected with an ID: keywords differ"),
    ("envs no_such_module", "cannot import no_such_module"),
    ("envs --match hanabi", "--match: expected a part of an id, got 'hanabi'"),
    # Policies.
    (f"{CARTS} --policy best", "expected random, oracle or module:attribute (eval"),
    (f"{CARTS} --policy no_such:f", "cannot import no_such:f: No module named"),
    (f"{CARTS} --policy math:pi", "math:pi is not callable, it is 3.14"),
    (f"{CARTS} --policy json:loads", "--policy: json:loads raised TypeError: the JSON"),
    (f"{CARTS} --policy user_envs:few", "actions of shape (3,) for 5 environments"),
    (f"rollout {ECHO} --num-envs 5 --policy user_envs:few", "returned 3 actions, expe"),
    (
        "rollout roll_vec/Sokoban -o action_mode=text --policy oracle "
        "-o 'action_pattern=act: ([a-z])'",
        "cannot write an answer that matches act: ([a-z])",
    ),
    (f"rollout {ECHO} --policy user_envs:words --out a.npz", "expected plain data, wh"),
    # Evaluation.
    (f"eval run {LAKE} --split tests", "--split: expected a split of roll_vec/RandomF"),
    ("eval panels sokoban", "NAME: expected one of sokoban-v1, lakes-v1, "),
    ("eval list CartPole-v1", "ID: expected an id with splits: roll_vec/Sokoban-v0"),
    (f"{SPLIT} --num-episodes 1001", "--num-episodes: expected at most 1,000, the epi"),
    (f"{SPLIT} -o size=5", "0 would change test-no-slip"),
    (f"{SPLIT} --out no/a", "there is no directory 'no'"),
    (f"{SPLIT} --policy http://h/v1", "--model: expected the name"),
    (f"{SPLIT} --extra-body [1]", "--extra-body: expected a JSON object such as"),
    (f"{SPLIT} --policy http://h --model m --num-envs 2", "--num-envs: use --concurre"),
    (f"{SPLIT} --policy oracle --seed 1", "--seed: not allowed without --policy rand"),
    ("eval compare a b", "'a' cannot be read"),
    # Exports.
    ("export roll_vec/Pendulum --policy random --out x.jsonl", "use --format parquet"),
    ("export roll_vec/FrozenLake --out no/x.jsonl", "--out: expected a path in a fold"),
    ("export CartPole-v1 --out x.jsonl", "argument ID: expected an id of this"),
    ("export roll_vec/FrozenLake --out x.jsonl -o obs_mode=grid", "argument --format:"),
    (
        "export roll_vec/FrozenLake --out x.parquet --format parquet "
        "--policy numpy:invert",
        "argument --policy: actions: expected 0 to 3, got",
    ),
    (f"export {ECHO} --out x.jsonl --policy random", "--policy: random: expected"),
    ("export no.npz --out x.jsonl", "argument FILE: cannot read 'no.npz'"),
    # Levels.
    ("levels make roll_vec/Sokoban --out a.png", "a file .txt, .xsb, .sok, got"),
    (f"levels make {LAKE} --out a.xsb", "argument ID: expected roll_vec/Sokoban-v0, g"),
    (
        f"levels make roll_vec/Sokoban --out a.txt --start-level {1 << 32}",
        "--start-level: expected seeds below 2**32, got",
    ),
    ("levels make roll_vec/Sokoban --out a.txt -o num_levels=3", "num_levels cannot b"),
    # Games that cannot be played.
    ("play CartPole-v1", "CartPole-v1 cannot be played"),
    ("play roll_vec/Countdown -o workers=2", "keyword argument 'workers'"),
    # Pages and GIFs.
    ("watch roll_vec/FrozenLake --out p.mp4", "a file name that ends in .html or .gi"),
    (f"{PAGE} --envs 1", "--envs: not allowed with an ID, of which --num-envs N m"),
    (f"{PAGE} --envs 3-1", "--envs: expected numbers and ranges such as 0-15,40, got"),
    (f"{PAGE} --envs 0-4096", "at most 4,096 numbers, got 4,097"),
    (f"{PAGE} --steps 1000000", "16 environments of 1,000,000 steps are more than 1"),
    (f"{PAGE} --policy {NINES}", f"argument --policy: {NINES}: actions: expected"),
    ("watch no.npz --out p.html", "RUN.npz: cannot read 'no.npz': No such file"),
    (f"{VIDEO} --fps 51", "--fps: expected a number from 0.01 to 50"),
    (f"{PAGE} --fps 5", "--fps: not allowed for 'page.html', which is no GIF"),
    (f"{VIDEO} --scale 90 --steps 1 --quiet", "fewer environments (--num-envs)"),
    # Saved runs.
    ("replay no.npz", "FILE.npz: cannot read 'no.npz': No such file"),
    ("webshop index --num-products 9 --out run.npz", "--out: run.npz is there already"),
    ("replay run.npz -o is_slippery=True", "is_slippery may not change in a replay;"),
    (f"{RUN_PAGE} --envs 0,8", "argument --envs: expected 0 to 7, got 8"),
    (f"{RUN_PAGE} --envs 1 --num-envs 2", "--num-envs: not allowed with argument --en"),
    (f"{RUN_PAGE} --seed 1", "--seed: not allowed with a saved run, which has its own"),
    (f"{RUN_PAGE} -o map_name=8x8", "run.npz cannot be played here: map_name may n"),
    # Arguments that would be ignored.
    ("eval compare a b --out c.jsonl", "unrecognized arguments: --out c.jsonl"),
    (f"{SPLIT} --retry-faults", "--retry-faults: not allowed without --out FILE.jsonl"),
    (f"{SPLIT} --temperature 1", "--temperature: not allowed without --policy http"),
    (f"{SPLIT} --policy http://h --model m --seed 3", "--seed: not allowed with --pol"),
    (f"export {LAKE} --out x.jsonl --model m", "--model: not allowed without --policy"),
    ("export x.npz --out x.jsonl --policy oracle", "--policy: not allowed with a reco"),
]
# Gymnasium's own half-built batch complains.
HALF_BUILT = pytest.param(
    "rollout CartPole-v1 -o boxes=3", "boxes", marks=needs("VectorEnv has no __del__")
)


@pytest.fixture(scope="module")
def saved_run(tmp_path_factory):
    """The bytes of a saved run of eight lakes."""
    path = tmp_path_factory.mktemp("run") / "run.npz"
    line = f"rollout roll_vec/FrozenLake --num-envs 8 --steps 3 --quiet --out {path}"
    assert main(line.split()) == 0
    return path.read_bytes()


@pytest.fixture
def workplace(saved_run, user_module, tmp_path, monkeypatch):
    with (tmp_path / "user_envs.py").open("a") as file:
        file.write(
            "class Word(str): pass\nwords = lambda texts: [Word(3)] * len(texts)\n"
        )
        file.write("few = lambda observations: [1, 1, 1]\n")
    (tmp_path / "run.npz").write_bytes(saved_run)
    # No interpreter writes beside the user's module.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
@pytest.mark.parametrize(("command", "message"), [*ERRORS, HALF_BUILT])
def test_an_error_is_one_line_and_nothing_is_written(
    fails, workplace, command, message
):
    before = {path: path.stat().st_mtime_ns for path in workplace.rglob("*")}
    assert message in fails(*shlex.split(command))
    after = {path: path.stat().st_mtime_ns for path in workplace.rglob("*")}
    assert after == before


def test_a_missing_extra_is_named_before_anything_runs(fails, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    line = fails("rollout", LINE, "--num-envs", 2, "--out", "a.png")
    assert 'pip install "roll-vec[cli]"' in line
    assert not list(tmp_path.iterdir())
