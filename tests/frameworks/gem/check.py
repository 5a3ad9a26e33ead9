"""GEM's environments in pools: their own transcripts, faults, snapshots, speed.

`tests.frameworks` runs this file where gem-llm is installed.
"""

import json
import random
import sys
import time
import warnings
from pathlib import Path

import gem
import gem.envs
import numpy as np
from gem.envs.registration import ENV_REGISTRY
from record import DATA, record
from side_by_side import measure

import roll_vec
from roll_vec.adapters import gem as adapter
from roll_vec.errors import EnvironmentFaultWarning

# GEM reads the words of these from nltk's data, which it downloads.
WORDS = ("Wordle", "Hangman", "WordSearch", "Crosswords")
# GEM makes the first room of these in more than a minute.
SLOW = ("game:Sokoban-v0-hard", "game:Sokoban-v0-random")
GAMES = sorted(
    env_id
    for env_id in ENV_REGISTRY
    if env_id.startswith("game:")
    and env_id not in SLOW
    and not any(word in env_id for word in WORDS)
)
NUM_STEPS, NUM_ENVS = 8, 50


class Hanging:
    """A guessing game that never returns from a step, or raises."""

    def __init__(self):
        self.env = gem.make("game:GuessTheNumber-v0-easy")

    def reset(self, seed=None):
        return self.env.reset(seed=seed)

    def step(self, action):
        if action == "hang":
            time.sleep(3600)
        if action == "raise":
            raise ValueError("broken")
        return self.env.step(action)


def play_theirs(env, seed, actions):
    """Return an episode of GEM's environment alone."""
    results = [env.reset(seed=seed)]
    for action in actions:
        results.append(env.step(action))
        if results[-1][2] or results[-1][3]:
            break
    return results


def play_ours(env_id, seeds, actions):
    """Return the episodes of a batch of them, by environment."""
    envs = adapter.make_vec(env_id, len(seeds), workers=2, autoreset_mode="Disabled")
    observations, infos = envs.reset(seed=list(seeds))
    results = [[(text, row_of(infos, i))] for i, text in enumerate(observations)]
    mask = [True] * len(seeds)
    for step in range(NUM_STEPS):
        texts = [own[step] for own in actions]
        batch, rewards, terminations, truncations, infos = envs.step(
            texts, mask=np.array(mask)
        )
        for i in range(len(seeds)):
            if mask[i]:
                ends = bool(terminations[i]), bool(truncations[i])
                results[i].append((batch[i], rewards[i], *ends, row_of(infos, i)))
                mask[i] = not any(ends)
        if not any(mask):
            break
    assert not sum(envs.fault_counts), envs.faults
    envs.close()
    return results


def row_of(infos, i):
    """Return GEM's own keys of the info of one environment."""
    ours = {"success", "env_instruction", "action_is_valid"}
    ours |= {"action_content", "think_content"}
    return {
        key: value[i]
        for key, value in infos.items()
        if not key.startswith("_") and key not in ours and infos[f"_{key}"][i]
    }


def count_seeds(env_id):
    """Return the number of seeds that are compared."""
    if "Sokoban" in env_id or "Sudoku" in env_id:
        return 50  # GEM takes up to seconds for one
    return 1000 if env_id.endswith("-easy") else 100


def check_transcripts(env_id):
    """Compare the episodes of many seeds with those of GEM alone."""
    alone = gem.make(env_id)
    count = 0
    num_seeds = count_seeds(env_id)
    for first in range(0, num_seeds, NUM_ENVS):
        seeds = range(first, min(first + NUM_ENVS, num_seeds))
        actions = []
        for seed in seeds:
            # Before the episodes: the random play of GEM draws from the same generator.
            alone.reset(seed=seed)
            actions.append([draw_action(alone) for _ in range(NUM_STEPS)])
        ours = play_ours(env_id, seeds, actions)
        for seed, own, texts in zip(seeds, ours, actions, strict=True):
            theirs = play_theirs(alone, seed, texts)
            assert len(own) == len(theirs), (env_id, seed)
            for step, (one, other) in enumerate(zip(own, theirs, strict=True)):
                same = list(one[:-1]) == list(other[:-1])
                same &= {**one[-1]} == {**other[-1]}
                assert same, (env_id, seed, step, one, other)
            count += len(own) - 1
    return count


def draw_action(env):
    """Return an action of GEM's random play, or a text that is none."""
    try:
        return str(env.sample_random_action())
    except NotImplementedError:
        return "\\boxed{1 2 3}"


def check_faults():
    """Let one environment hang and one raise, beside others."""
    gem.register("check:Hanging", Hanging)
    for executor in ("thread", "process"):
        envs = adapter.make_vec(
            "check:Hanging",
            6,
            workers=3,
            executor=executor,
            # A process that is killed begins a new one, which imports GEM.
            context="fork" if executor == "process" else None,
            step_timeout=1.0,
            autoreset_mode="SameStep",
        )
        envs.reset(seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EnvironmentFaultWarning)
            *_, truncations, infos = envs.step(["hang", "raise", *["\\boxed{3}"] * 4])
        assert truncations.tolist() == [True, True, False, False, False, False]
        errors = infos["final_info"]["error"][:2]
        assert "timeout" in errors[0], errors
        assert "broken" in errors[1], errors
        observations = envs.step(["\\boxed{3}"] * 6)[0]
        assert all("At turn" in text or "Congr" in text for text in observations)
        envs.close()


def check_snapshots():
    """Go back to a snapshot, also of games that draw in their steps."""
    for env_id in ("game:Game2048-v0-easy", "game:Sokoban-v0-easy"):
        envs = adapter.make_vec(env_id, 4)
        envs.reset(seed=1)
        state = envs.get_state()
        texts = [envs.action_space.sample() for _ in range(20)]
        first = [envs.step(text)[0] for text in texts]
        envs.set_state(state)
        assert [envs.step(text)[0] for text in texts] == first, env_id


def measure_speed(env_id, num_envs=256):
    """Return the rates of GEM's own vector environment and of a pool."""
    action = "\\boxed{3}"
    theirs = gem.make_vec([env_id] * num_envs)
    theirs.reset(seed=0)
    ours = adapter.make_vec(env_id, num_envs, autoreset_mode="SameStep")
    ours.reset(seed=0)

    def step(envs):
        for _ in range(4):
            envs.step([action] * num_envs)
        return 4 * num_envs

    return measure(lambda: step(theirs), lambda: step(ours))


def main():
    rows, state = [], random.getstate()
    assert record() == json.loads(DATA.read_text("utf-8")), "the recorded episode"
    # GEM alone moves the global generators, the pools do not.
    compared = {}
    for env_id in GAMES:
        try:
            gem.make(env_id).reset(seed=0)
        except Exception as error:
            result = f"GEM alone raises {type(error).__name__}"
            rows.append({"what": env_id, "result": result})
            continue
        compared.setdefault(count_seeds(env_id), {})[env_id] = check_transcripts(env_id)
    for num_seeds, counts in compared.items():
        names = ", ".join(env_id.removeprefix("game:") for env_id in counts)
        what = f"{num_seeds} seeds, {sum(counts.values())} steps: {names}"
        rows.append({"what": what, "result": "equal transcripts", "lines_changed": 1})
    not_run = {"words of nltk": WORDS, "over a minute for a room": SLOW}
    for reason, names in not_run.items():
        rows.append({"what": ", ".join(names), "result": f"not run: {reason}"})
    random.setstate(state)
    check_snapshots()
    rows.append({"what": "snapshots of games", "result": "equal continuations"})
    check_faults()
    result = "truncated with the reason; the others go on"
    rows.append({"what": "a step that hangs, a step that raises", "result": result})
    assert random.getstate() == state, "the global generator has moved"
    mixed = roll_vec.make_mixed(
        {"gem/game-GuessTheNumber-v0-easy": {}, "roll_vec/Countdown-v0": {}}, 8
    )
    mixed.reset(seed=0)
    mixed.step(["\\boxed{3}"] * 4 + ["1 + 1"] * 4)
    rows.append({"what": "a mixed batch with Countdown", "result": "runs"})
    for env_id in ("game:GuessTheNumber-v0-easy", "game:Game2048-v0-easy"):
        rates = measure_speed(env_id)
        what = f"{env_id}, 256 environments"
        rows.append({"what": what, "result": "runs", "unit": "steps/s", **rates})
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
