"""Data sets of reasoning-gym in pools: entries, scores, code in answers, speed.

`tests.frameworks` runs this file where reasoning-gym is installed.
"""

import json
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

from reasoning_gym.factory import DATASETS, create_dataset
from record import DATA, record
from side_by_side import measure

import roll_vec
from roll_vec.adapters import reasoning_gym as adapter
from roll_vec.errors import EnvironmentFaultWarning, InvalidOptionError

NUM_ENTRIES = 10
MANY = ("leg_counting", "basic_arithmetic", "spell_backward", "word_sorting")
# Their scores run answers by sympy's parse_expr.
RUN_CODE = {
    "countdown",
    "intermediate_integration",
    "polynomial_multiplication",
    "puzzle24",
    "simple_integration",
}
# An entry takes seconds, in them as here.
SLOW = {"knight_swap", "futoshiki", "quantum_lock", "zebra_puzzles", "arc_agi"}
# They draw from the global generator: their own entries differ from time to time.
UNSEEDED = {"list_functions"}


def answers_of(entry):
    """Return a right answer if there is one, and others."""
    answer = str(entry["answer"])
    return [answer, f"The answer is {answer}.", "[1, 2]", "", "7"]


def check_dataset(name, count):
    """Compare entries and scores with those of the data set alone."""
    own = create_dataset(name, seed=0, size=500)
    envs = adapter.make_vec(
        name, count, size=500, allow_code=True, autoreset_mode="Disabled"
    )
    questions = [own[i]["question"] for i in range(count)]
    raises = False
    for number in range(5):
        assert list(envs.reset(seed=0)[0]) == questions, name
        entries = [own[i] for i in range(count)]
        answers = [answers_of(entry)[number] for entry in entries]
        rewards, terminations, truncations = envs.step(answers)[1:4]
        for i, (answer, entry) in enumerate(zip(answers, entries, strict=True)):
            try:
                score = own.score_answer(answer=answer, entry=entry)
            except Exception:
                # Then its environment has a fault, and the others have none.
                raises, score = True, None
            assert bool(truncations[i]) == (score is None), (name, answer)
            assert bool(terminations[i]) == (score is not None), (name, answer)
            assert rewards[i] == (score or 0.0), (name, answer)
    state = envs.get_state()
    envs.reset()
    assert list(envs.set_state(state)) == questions
    return raises


def check_code():
    """Answers are not run, and data sets whose scores would run them are refused."""
    refused, state = set(), random.getstate()
    for name in sorted(set(DATASETS) - SLOW - {"composite"}):
        try:
            envs = adapter.make_vec(name, 1)
        except InvalidOptionError:
            refused.add(name)
            continue
        envs.reset(seed=0)
        envs.step(["7"])
        assert random.getstate() == state, f"{name} has moved the global generator"
    assert refused == RUN_CODE, refused
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        answer = f"[open({str(path)!r}, 'w')]"
        for name in ("binary_matrix", "n_queens", "spiral_matrix", "string_insertion"):
            own = create_dataset(name, seed=0)
            own.score_answer(answer=answer, entry=own[0])
            assert path.exists(), f"{name} alone no longer runs answers"
            path.unlink()
            envs = adapter.make_vec(name, 1)
            envs.reset(seed=0)
            envs.step([answer])
            assert not path.exists(), name


def check_faults():
    """A score that hangs and one that raises, beside others."""

    def score_answer(self, answer, entry):
        if answer == "hang":
            time.sleep(3600)
        if answer == "raise":
            raise ValueError("broken")
        return 1.0

    cls = DATASETS["leg_counting"][0]
    previous, cls.score_answer = cls.score_answer, score_answer
    try:
        envs = adapter.make_vec("leg_counting", 6, workers=3, step_timeout=1.0)
        envs.reset(seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EnvironmentFaultWarning)
            _, rewards, _, truncations, infos = envs.step(["hang", "raise", *"1234"])
        assert truncations.tolist() == [True, True, *[False] * 4]
        assert rewards.tolist() == [0.0, 0.0, *[1.0] * 4]
        assert "timeout" in infos["error"][0]
        assert "broken" in infos["error"][1]
        envs.close()
    finally:
        cls.score_answer = previous


def measure_speed(name, num_envs=256):
    """Return the rates of a loop over a data set and of a pool, in entries."""
    own = create_dataset(name, seed=0, size=500)
    ours = adapter.make_vec(name, num_envs, size=500, autoreset_mode="SameStep")
    ours.reset(seed=0)

    def loop():
        for i in range(num_envs):
            entry = own[i]
            own.score_answer(answer="7", entry=entry)
        return num_envs

    def step():
        ours.step(["7"] * num_envs)
        return num_envs

    return measure(loop, step)


def main():
    warnings.simplefilter("ignore")
    assert record() == json.loads(DATA.read_text("utf-8")), "the recorded entries"
    names = sorted(set(DATASETS) - SLOW - UNSEEDED - {"composite"})
    raising = [name for name in names if check_dataset(name, NUM_ENTRIES)]
    what = f"{len(names)} data sets, {NUM_ENTRIES} entries, 5 answers each"
    result = "equal questions and scores"
    if raising:
        result += f"; scores of {', '.join(raising)} raise, in both"
    rows = [{"what": what, "result": result, "lines_changed": 1}]
    for name in MANY:
        check_dataset(name, 500)
    what = f"{', '.join(MANY)}: 500 entries, 5 answers each"
    rows.append({"what": what, "result": "equal questions and scores"})
    check_code()
    result = f"never executed; {len(RUN_CODE)} data sets are refused"
    rows.append({"what": "code in answers", "result": result})
    check_faults()
    result = "truncated with the reason; the others go on"
    rows.append({"what": "a score that hangs, one that raises", "result": result})
    mixed = roll_vec.make_mixed(
        {"reasoning_gym/leg_counting": {}, "roll_vec/Countdown-v0": {}}, 8
    )
    mixed.reset(seed=0)
    mixed.step(["7"] * 4 + ["1 + 1"] * 4)
    rows.append({"what": "a mixed batch with Countdown", "result": "runs"})
    for name in ("leg_counting", "word_sorting"):
        what = f"{name}, 256 environments beside a loop over the data set"
        rates = measure_speed(name)
        rows.append({"what": what, "result": "runs", "unit": "entries/s", **rates})
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
