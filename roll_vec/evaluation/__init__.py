"""Evaluation: fixed sets of episodes for each id, and the results of a policy on them.

In reading order:

- `difficulty`: levels of a wanted difficulty
- `splits`: sets of episodes, each with a digest of its first observations
- `episodes`: play each episode of a split once, with any policy; uniform actions
- `chat`: a language model behind an HTTP endpoint as the policy
- `statistics`: 95 % intervals of rates, means and differences
- `results`: results in a file, to which an interrupted evaluation goes back; two
  policies on the same episodes

::

    split = find_split("roll_vec/Sokoban-v0", "test")
    envs = split.make_vec(num_envs=256)
    results = play_split(split, envs, UniformPolicy(envs, seed=0))
    print(results.success_rate(), results.mean_return())
"""

from roll_vec.evaluation.chat import (
    ChatEndpoint,
    ChatError,
    chat_keywords,
    play_chat,
    play_chat_episodes,
)
from roll_vec.evaluation.difficulty import draw_levels
from roll_vec.evaluation.episodes import (
    EpisodeRecord,
    EpisodeResults,
    play_episodes,
    play_split,
)
from roll_vec.evaluation.policies import OraclePolicy, UniformPolicy
from roll_vec.evaluation.results import (
    Comparison,
    ResultFile,
    ResultHeader,
    ResultLog,
    compare_results,
    evaluate,
    read_results,
)
from roll_vec.evaluation.splits import SPLITS, Split, find_split, splits_of
from roll_vec.evaluation.statistics import (
    Interval,
    mcnemar_p_value,
    mean_interval,
    paired_mean_interval,
    paired_rate_interval,
    wilson_interval,
)
from roll_vec.trajectories import Turn

__all__ = [
    "SPLITS",
    "ChatEndpoint",
    "ChatError",
    "Comparison",
    "EpisodeRecord",
    "EpisodeResults",
    "Interval",
    "OraclePolicy",
    "ResultFile",
    "ResultHeader",
    "ResultLog",
    "Split",
    "Turn",
    "UniformPolicy",
    "chat_keywords",
    "compare_results",
    "draw_levels",
    "evaluate",
    "find_split",
    "mcnemar_p_value",
    "mean_interval",
    "paired_mean_interval",
    "paired_rate_interval",
    "play_chat",
    "play_chat_episodes",
    "play_episodes",
    "play_split",
    "read_results",
    "splits_of",
    "wilson_interval",
]
