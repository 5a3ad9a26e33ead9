"""An episode of GEM's own environment; its games in pools; speed.

``python record.py FOLDER`` writes transcripts and rows.
"""

import random

import gem
import gem.envs
from gem.envs.registration import ENV_REGISTRY
from side_by_side import measure, write

from roll_vec.adapters import gem as adapter

GUESSES = (25, 12, 40, 31)
# GEM reads the words of four from nltk's data, which it downloads, and makes the first
# room of two in more than a minute.
LEFT_OUT = ("Wordle", "Hangman", "WordSearch", "Crosswords")
LEFT_OUT += ("Sokoban-v0-hard", "Sokoban-v0-random")
NUM_SEEDS, NUM_STEPS = 10, 8


def record():
    """Return the episode of seed 5 of a guessing game, which ends with the number."""
    env = gem.make("game:GuessTheNumber-v0-hard")
    episode = {"reset": env.reset(seed=5), "steps": []}
    guesses = [number for number in GUESSES if number != env.game_number]
    for number in (*guesses, env.game_number):
        text = f"\\boxed{{{number}}}"
        episode["steps"].append((text, env.step(text)))
    return episode


def compare(env_id):
    """Compare a pool with GEM alone, seed by seed; return the number of steps."""
    alone, episodes = gem.make(env_id), []
    for seed in range(NUM_SEEDS):
        # Before the episode: the random play of GEM draws from the same generator.
        alone.reset(seed=seed)
        texts = [str(alone.sample_random_action()) for _ in range(NUM_STEPS)]
        results = [alone.reset(seed=seed)]
        while len(results) <= NUM_STEPS and not any(results[-1][2:4]):
            results.append(alone.step(texts[len(results) - 1]))
        episodes.append((texts, results))
    state = random.getstate()
    envs = adapter.make_vec(env_id, NUM_SEEDS, workers=2, autoreset_mode="Disabled")
    observations, _ = envs.reset(seed=list(range(NUM_SEEDS)))
    assert list(observations) == [results[0][0] for _, results in episodes], env_id
    for step in range(NUM_STEPS):
        mask = [len(results) > step + 1 for _, results in episodes]
        if any(mask):
            batch = envs.step([texts[step] for texts, _ in episodes], mask=mask)
        for i, (_, results) in enumerate(episodes):
            if mask[i]:
                assert [column[i] for column in batch[:4]] == list(
                    results[step + 1][:4]
                )
    assert not sum(envs.fault_counts), envs.faults
    assert random.getstate() == state, "the global generator has moved"
    envs.close()
    return sum(len(results) - 1 for _, results in episodes)


def can_play(env_id):
    """Return if GEM alone makes the game here, and has random play for it."""
    if not env_id.startswith("game:") or any(word in env_id for word in LEFT_OUT):
        return False
    try:
        env = gem.make(env_id)
        env.reset(seed=0)
        env.sample_random_action()
    except Exception:
        return False
    return True


def stepping(envs, num_envs):
    """Return a function that takes some steps."""
    envs.reset(seed=0)

    def work():
        for _ in range(4):
            envs.step(["\\boxed{3}"] * num_envs)
        return 4 * num_envs

    return work


def main():
    """Record, compare, measure."""
    write("gem", record())
    steps = [compare(env_id) for env_id in sorted(ENV_REGISTRY) if can_play(env_id)]
    result = f"equal transcripts, {sum(steps):,} steps"
    rows = [{"what": f"{len(steps)} games, {NUM_SEEDS} seeds", "result": result}]
    env_id, num_envs = "game:GuessTheNumber-v0-easy", 256
    theirs = gem.make_vec([env_id] * num_envs)
    ours = adapter.make_vec(env_id, num_envs, autoreset_mode="SameStep")
    what = f"{env_id}, {num_envs} environments"
    rows.append(measure(what, stepping(theirs, num_envs), stepping(ours, num_envs)))
    write("rows", rows)


if __name__ == "__main__":
    main()
