"""Data sets of reasoning-gym in pools: entries, scores, code in answers, speed.

`tests.frameworks` runs this file where reasoning-gym is installed.
"""

import json
import random
import sys
import warnings
from pathlib import Path

from reasoning_gym.factory import DATASETS, create_dataset
from side_by_side import measure

from roll_vec.adapters import reasoning_gym as adapter
from roll_vec.errors import InvalidOptionError

NUM_ENTRIES = 10
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


def check_dataset(name):
    """Compare entries and scores with those of the data set; return if a score raises.

    Data sets whose scores run code are refused without ``allow_code``.
    """
    own = create_dataset(name, seed=0, size=500)
    keywords = {"size": 500, "autoreset_mode": "Disabled"}
    state = random.getstate()
    try:
        envs = adapter.make_vec(name, NUM_ENTRIES, **keywords)
    except InvalidOptionError:
        assert name in RUN_CODE, name
        envs = adapter.make_vec(name, NUM_ENTRIES, allow_code=True, **keywords)
    else:
        assert name not in RUN_CODE, name
    entries = [own[i] for i in range(NUM_ENTRIES)]
    raises = False
    for template in ("{}", "The answer is {}.", "[1, 2]", "", "7"):
        questions, _ = envs.reset(seed=0)
        assert list(questions) == [entry["question"] for entry in entries], name
        answers = [template.format(entry["answer"]) for entry in entries]
        rewards, terminations, truncations = envs.step(answers)[1:4]
        for i, (answer, entry) in enumerate(zip(answers, entries, strict=True)):
            try:
                score = own.score_answer(answer=answer, entry=entry)
            except Exception:
                # Then its environment has a fault, and the others have none.
                raises, score = True, None
            result = bool(terminations[i]), bool(truncations[i]), rewards[i]
            assert result == (score is not None, score is None, score or 0.0), (
                name,
                answer,
            )
    if name not in UNSEEDED:
        assert random.getstate() == state, f"{name} has moved the global generator"
    return raises


def measure_speed(name, num_envs=256):
    """Return the rates of a loop over a data set and of a pool, in entries."""
    own = create_dataset(name, seed=0, size=500)
    ours = adapter.make_vec(name, num_envs, size=500, autoreset_mode="SameStep")
    ours.reset(seed=0)

    def loop():
        for i in range(num_envs):
            own.score_answer(answer="7", entry=own[i])
        return num_envs

    def step():
        ours.step(["7"] * num_envs)
        return num_envs

    return measure(loop, step)


def main(out):
    """Compare all data sets, and write the rows."""
    warnings.simplefilter("ignore")
    names = sorted(set(DATASETS) - SLOW - UNSEEDED - {"composite"})
    raising = [name for name in names if check_dataset(name)]
    result = "equal questions and scores"
    result += f"; scores of {', '.join(raising)} raise, in both" * bool(raising)
    what = f"{len(names)} data sets, {NUM_ENTRIES} entries, 5 answers each"
    rows = [{"what": what, "result": result, "lines_changed": 1}]
    result = f"{len(RUN_CODE)} data sets are refused"
    rows.append({"what": "scores that run answers as code", "result": result})
    what = "leg_counting, 256 environments beside a loop over the data set"
    row = {"what": what, "result": "runs", "unit": "entries/s"}
    rows.append(row | measure_speed("leg_counting"))
    Path(out).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
