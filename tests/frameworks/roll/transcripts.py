"""Episodes of two environments side by side, and as plain data."""

import random

ANSWERS = [
    *(f"<answer>{name}</answer>" for name in ("Up", "Down", "Left", "Right") * 4),
    "<answer>right</answer>",
    "I push.\n<answer> LEFT </answer>",
    "<|im_start|><answer>U<|im_end|>p</answer>",
    "<answer>Up</answer><answer>Down</answer>",
    "<answer>Jump</answer>",
    "<answer></answer>",
    "Up",
    "",
]
THINKING = [f"<think> hm </think> {answer}" for answer in ANSWERS]


def plain(value):
    """Return a result without numpy's scalars and tuples."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def play(env, seed, choose, max_turns):
    """Play an episode; return the result of the reset, the answers and their results.

    Parameters
    ----------
    env : object
        With ROLL's ``reset(seed)`` and ``step(answer)``.
    seed : int
    choose : callable
        Returns an answer for a random generator, a turn and an observation.
    max_turns : int
    """
    rng = random.Random(seed)
    first = plain(env.reset(seed))
    observation, turns = first[0], []
    for turn in range(max_turns):
        answer = choose(rng, turn, observation)
        result = plain(env.step(answer))
        # Gymnasium's lake has the integers 0 and 1.
        result[1] = float(result[1])
        turns.append([answer, *result])
        observation = result[0]
        if result[2]:
            break
    return first, turns


def any_of(answers):
    """Return a chooser of random answers."""
    return lambda rng, turn, observation: rng.choice(answers)


class CountResets:
    """Counts the calls of a class's `reset`: it calls itself after a failed room.

    Parameters
    ----------
    env_class : type
    """

    def __init__(self, env_class):
        self.count = 0
        reset = env_class.reset

        def counted(env, *args, **keywords):
            self.count += 1
            return reset(env, *args, **keywords)

        env_class.reset = counted

    def since(self, count):
        """Return the number of calls since the count was this."""
        return self.count - count


def compare(theirs, ours, resets, seeds, choose, max_turns=30):
    """Check that two environments play equal episodes, keys in the same order.

    Parameters
    ----------
    theirs, ours : object
    resets : CountResets
        Of the class of ``theirs``.
    seeds : iterable of int
    choose, max_turns
        See `play`.

    Returns
    -------
    num_equal, num_retries : int
        Episodes that were equal, and those that were not compared: their class took
        another seed from ``hash``, which differs between processes.
    """
    num_equal = num_retries = 0
    for seed in seeds:
        count = resets.count
        expected = play(theirs, seed, choose, max_turns)
        if resets.since(count) > 1:
            num_retries += 1
            continue
        actual = play(ours, seed, choose, max_turns)
        assert repr(actual) == repr(expected), f"seed {seed}:\n{expected}\n{actual}"
        num_equal += 1
    return num_equal, num_retries
