"""Entries and scores of reasoning-gym; its data sets in pools; speed.

``python record.py FOLDER`` writes transcripts and rows.
"""

import random
import warnings

import reasoning_gym
from reasoning_gym.factory import DATASETS, create_dataset
from side_by_side import measure, write

from roll_vec.adapters import reasoning_gym as adapter
from roll_vec.errors import InvalidOptionError

NUM_ENTRIES = 10
ANSWERS = ("{}", "The answer is {}.", "[1, 2]", "", "7")
# Their scores run answers by sympy's parse_expr: they are refused without `allow_code`.
RUN_CODE = {
    "countdown",
    "intermediate_integration",
    "polynomial_multiplication",
    "puzzle24",
    "simple_integration",
}
# An entry of the first takes seconds; the entries of one differ from time to time, as
# they are drawn from the global generator; one is a mixture.
LEFT_OUT = {"knight_swap", "futoshiki", "quantum_lock", "zebra_puzzles", "arc_agi"}
LEFT_OUT |= {"list_functions", "composite"}


def record():
    """Return three small entries, and scores of right, listed and wrong answers."""
    dataset = reasoning_gym.create_dataset("spiral_matrix", seed=0, size=3, max_n=3)
    scores = []
    for entry in dataset:
        answer = entry["answer"]
        answers = [answer, f"[{', '.join(answer.split())}]", "1 2", "", "[1 +"]
        scores.append([(a, dataset.score_answer(a, entry)) for a in answers])
    keys = ("question", "answer")
    entries = [{key: entry[key] for key in keys} for entry in dataset]
    return {"entries": entries, "scores": scores}


def compare(name):
    """Compare entries and scores with those of a data set; return if a score raises."""
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
    entries, raises = [own[i] for i in range(NUM_ENTRIES)], False
    for template in ANSWERS:
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
            expected = score is not None, score is None, score or 0.0
            assert result == expected, (name, answer)
    assert random.getstate() == state, f"{name} has moved the global generator"
    return raises


def measure_speed(name, num_envs=256):
    """Return the row of a loop over a data set and of a pool, in entries."""
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

    what = f"{name}, {num_envs} environments beside a loop over the data set"
    return measure(what, loop, step, "entries/s")


def main():
    """Record, compare, measure."""
    write("reasoning_gym", record())
    warnings.simplefilter("ignore")
    names = sorted(set(DATASETS) - LEFT_OUT)
    raising = [name for name in names if compare(name)]
    result = "equal questions and scores"
    result += f"; scores of {', '.join(raising)} raise, in both" * bool(raising)
    what = f"{len(names)} data sets, {NUM_ENTRIES} entries, {len(ANSWERS)} answers each"
    row = {"what": what, "result": result, "lines_changed": 1}
    write("rows", [row, measure_speed("leg_counting")])


if __name__ == "__main__":
    main()
