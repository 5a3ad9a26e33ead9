"""Evaluation: fixed sets of episodes for each id, and the results of a policy on them.

In reading order:

- `difficulty`: levels of a wanted difficulty
- `splits`: sets of episodes, each with a digest of its first observations
- `panels`: groups of splits for comparison between papers, and their baselines
- `policies`: uniform actions, and the right ones
- `episodes`: play each episode of a split once, with any policy
- `chat`: a language model behind an HTTP endpoint as the policy
- `statistics`: 95 % intervals of rates, means and differences
- `turns`: answers, rewards and digests of episodes
- `result_headers`, `result_files`: results in a file, to which an interrupted
  evaluation goes back
- `results`: evaluations with such a file; two policies on the same episodes
- `replaying`: recorded episodes, played again in a batch without their policy
- `verification`: scores of files, compared with the world
- `diagnosis`: reasons why the reward of recorded episodes is low

::

    split = find_split("roll_vec/Sokoban-v0", "test")
    envs = split.make_vec(num_envs=256)
    results = play_split(split, envs, UniformPolicy(envs, seed=0))
    print(results.success_rate(), results.mean_return())
"""

from roll_vec.evaluation.chat import ChatEndpoint, play_chat
from roll_vec.evaluation.difficulty import draw_levels
from roll_vec.evaluation.episodes import EpisodeResults, play_episodes, play_split
from roll_vec.evaluation.policies import OraclePolicy, UniformPolicy
from roll_vec.evaluation.results import compare_results, evaluate
from roll_vec.evaluation.splits import Split, find_split, splits_of
from roll_vec.evaluation.statistics import wilson_interval
from roll_vec.evaluation.verification import verify_episodes, verify_results

__all__ = [
    "ChatEndpoint",
    "EpisodeResults",
    "OraclePolicy",
    "Split",
    "UniformPolicy",
    "compare_results",
    "draw_levels",
    "evaluate",
    "find_split",
    "play_chat",
    "play_episodes",
    "play_split",
    "splits_of",
    "verify_episodes",
    "verify_results",
    "wilson_interval",
]
