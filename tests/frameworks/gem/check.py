"""GEM's environments in a pool: equal to GEM alone, seed by seed; speed.

`tests.frameworks` runs this file where gem-llm is installed.
"""

import json
import random
import sys
from pathlib import Path

import gem
import gem.envs
from gem.envs.registration import ENV_REGISTRY
from side_by_side import measure

from roll_vec.adapters import gem as adapter

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
NUM_SEEDS, NUM_STEPS = 20, 8


def draw_action(env):
    """Return an action of GEM's random play, or a text that is none."""
    try:
        return str(env.sample_random_action())
    except NotImplementedError:
        return "\\boxed{1 2 3}"


def play(env, seed, actions):
    """Return an episode of GEM's environment alone."""
    results = [env.reset(seed=seed)]
    for action in actions:
        results.append(env.step(action))
        if results[-1][2] or results[-1][3]:
            break
    return results


def check_game(env_id):
    """Compare a pool with GEM alone; return the number of steps."""
    alone, actions = gem.make(env_id), []
    for seed in range(NUM_SEEDS):
        # Before the episodes: the random play of GEM draws from the same generator.
        alone.reset(seed=seed)
        actions.append([draw_action(alone) for _ in range(NUM_STEPS)])
    episodes = [play(alone, seed, texts) for seed, texts in enumerate(actions)]
    state = random.getstate()
    envs = adapter.make_vec(env_id, NUM_SEEDS, workers=2, autoreset_mode="Disabled")
    observations, _ = envs.reset(seed=list(range(NUM_SEEDS)))
    assert list(observations) == [episode[0][0] for episode in episodes], env_id
    for step in range(NUM_STEPS):
        mask = [len(episode) > step + 1 for episode in episodes]
        if not any(mask):
            break
        texts = [own[step] for own in actions]
        *batch, infos = envs.step(texts, mask=mask)
        for i in range(NUM_SEEDS):
            if mask[i]:
                *expected, info = episodes[i][step + 1]
                where = env_id, i, step
                assert [column[i] for column in batch] == expected, where
                assert {key: infos[key][i] for key in info} == info, where
    assert not sum(envs.fault_counts), envs.faults
    assert random.getstate() == state, "the global generator has moved"
    envs.close()
    return sum(len(episode) - 1 for episode in episodes)


def measure_speed(env_id, num_envs=256):
    """Return the rates of GEM's own vector environment and of a pool."""
    theirs = gem.make_vec([env_id] * num_envs)
    ours = adapter.make_vec(env_id, num_envs, autoreset_mode="SameStep")

    def step(envs):
        for _ in range(4):
            envs.step(["\\boxed{3}"] * num_envs)
        return 4 * num_envs

    for envs in (theirs, ours):
        envs.reset(seed=0)
    return measure(lambda: step(theirs), lambda: step(ours))


def main():
    """Compare every game that runs here, and write the rows."""
    steps, raising = {}, []
    for env_id in GAMES:
        try:
            gem.make(env_id).reset(seed=0)
        except Exception:
            raising.append(env_id)
        else:
            steps[env_id] = check_game(env_id)
    result = f"equal transcripts, {sum(steps.values()):,} steps"
    result += f"; GEM alone raises in {', '.join(raising)}" * bool(raising)
    rows = [{"what": f"{len(steps)} games, {NUM_SEEDS} seeds", "result": result}]
    env_id = "game:GuessTheNumber-v0-easy"
    row = {"what": f"{env_id}, 256 environments", "result": "runs", "unit": "steps/s"}
    rows.append(row | measure_speed(env_id))
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
