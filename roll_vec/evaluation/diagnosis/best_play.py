"""The best return and the exact difficulty of each task, by playing the solver.

The solver plays each seed once, without a limit of steps: so a limit that is too short
for the best play costs return, too.  Without a solver the best return of any episode
with the same keywords stands for it, or the return at which Gymnasium calls its game
solved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from roll_vec.errors import SolverLimitError
from roll_vec.evaluation.diagnosis.played import Floats, Ints, Played, Task
from roll_vec.evaluation.policies import OraclePolicy, has_oracle
from roll_vec.evaluation.splits import FREE_KEYWORDS, TEST_START
from roll_vec.progress import report
from roll_vec.recordings.driver import play_steps
from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.factories import make_vec
from roll_vec.trajectories.play import Policy, SeedPlan, Turn

_COUNTDOWN = "roll_vec/Countdown-v0"
# Far beyond the best play of any game that has a solver.
_MAX_STEPS = 1000
_MOST_ENVS = 1024
# Episodes with the default keywords, for their median difficulty.
_USUAL_EPISODES = 100
_OF_TEXTS = {"action_mode", "format_penalty", "max_steps", "max_episode_steps"}

MOVES, CHANCE, OPERATIONS = "moves", "chance of success", "operations"


class BestPlay(NamedTuple):
    """The best play of n seeds: (n,) returns, lengths and difficulties, a measure."""

    returns: Floats
    lengths: Floats
    difficulty: Floats
    measure: str


def add_best_play(played: Played) -> None:
    """Write the columns of best play, and the measures of the tasks."""
    seeds = played.seeds()
    for number, task in enumerate(played.tasks):
        places = np.flatnonzero(played.task == number)
        _, firsts, inverse = np.unique(
            seeds[places], return_index=True, return_inverse=True
        )
        unique = [played.recorded[place].seed for place in places[firsts].tolist()]
        id = task.group.id
        best = play_best(id, task.group.keywords, unique)
        returns = played.returns[places]
        if best is None:
            registered = ENVIRONMENTS.get(id)
            solved = registered and registered.reward_threshold
            task.has_best = solved is not None
            played.best[places] = max(filter(None, (returns.max(), solved)), default=0)
            continue
        task.measure, task.has_best = best.measure, True
        played.best[places] = best.returns[inverse]
        played.best_length[places] = best.lengths[inverse]
        played.difficulty[places] = best.difficulty[inverse]


def usual_play(task: Task) -> BestPlay | None:
    """Return the best play of some test levels with the defaults of a task's id.

    Keywords that are true or false, such as ``is_slippery``, are those of the task.
    None: it has another measure.
    """
    keywords = task.group.keywords
    flags = [
        (name, keywords[name]) for name in keywords if type(keywords[name]) is bool
    ]
    usual = _usual_play(task.group.id, tuple(flags))
    return usual if usual is not None and usual.measure == task.measure else None


@lru_cache(maxsize=32)
def _usual_play(id: str, flags: tuple[tuple[str, bool], ...]) -> BestPlay | None:
    seeds = range(TEST_START, TEST_START + _USUAL_EPISODES)
    return play_best(id, dict(flags), seeds)


def play_best(
    id: str, keywords: Mapping[str, Any], seeds: Sequence[int]
) -> BestPlay | None:
    """Return the best play of some seeds; None: the id has no solver.

    Parameters
    ----------
    id : str
    keywords : mapping
        Of an episode; those of texts and limits are left out.
    seeds : sequence of n int
    """
    registered = ENVIRONMENTS.get(id)
    is_pool = registered is None or registered.pooled
    names = FREE_KEYWORDS | (_OF_TEXTS if not is_pool else {"format_penalty"})
    keywords = {name: keywords[name] for name in keywords if name not in names}
    if not is_pool:
        keywords["max_episode_steps"] = _MAX_STEPS
    num_envs = max(min(len(seeds), _MOST_ENVS), 1)
    with closing(make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)) as envs:
        if not has_oracle(envs):
            return None
        play = _play_texts if id == _COUNTDOWN else _play
        return play(envs, seeds, OraclePolicy(envs))


def _play_texts(envs: Any, seeds: Sequence[int], oracle: Policy) -> BestPlay:
    """Return the best play of Countdown, whose answers say how hard a task is."""
    answers: dict[int, str] = {}

    def act(turn: Turn) -> Any:
        actions = oracle(turn)
        answers.update(zip(turn.episodes.tolist(), actions, strict=True))
        return actions

    best = _play(envs, seeds, act)
    texts = [answers[number] for number in range(len(seeds))]
    operations = [len(re.findall(r"[-+*/](?=[ (\d])", text)) for text in texts]
    difficulty = np.array(operations, np.float64)
    return best._replace(difficulty=difficulty, measure=OPERATIONS)


def _play(envs: Any, seeds: Sequence[int], policy: Policy) -> BestPlay:
    plan, account = SeedPlan(envs, seeds, policy), EpisodeAccount(envs)
    returns, lengths, chances = np.full((3, len(seeds)), np.nan)
    num_ends = 0
    for event in play_steps(envs, plan):
        rows = np.flatnonzero(event.starts)
        # On slippery ice a solution is a policy, and has a chance.
        if len(rows) and hasattr(_solve(envs, rows[:1])[0], "value"):
            solutions = _solve(envs, rows)
            chances[plan.episodes[rows]] = [
                getattr(each, "value", np.nan) for each in solutions
            ]
        ends = account.add(event)
        episodes = plan.episodes[ends.env_index]
        returns[episodes], lengths[episodes] = ends.returns, ends.lengths
        # A policy without a solution plays until the limit.
        lengths[episodes[ends.truncated]] = np.nan
        num_ends += len(ends)
        report("solutions", num_ends, len(seeds))
    if np.isfinite(chances).any():
        return BestPlay(returns, lengths, chances, CHANCE)
    return BestPlay(returns, lengths, lengths, MOVES)


def _solve(envs: Any, rows: Ints) -> Sequence[Any]:
    """Return solutions of stacked arrays; None each where there are none."""
    with suppress(SolverLimitError):
        if hasattr(envs.engine, "first_action"):
            return list(envs.engine.solve(rows, MOVES))
    return [None] * len(rows)
