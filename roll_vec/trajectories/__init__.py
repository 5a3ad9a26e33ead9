"""Trajectories: whole episodes of one environment each, played by any policy.

In reading order:

- `trajectory`: the data class of an episode, as the messages of a chat, and infos as
  JSON has them
- `fold`: trajectories of the events of any batch
- `play`: play each seed of a list once, in a batch; the arguments of a policy
- `runs`: the episodes of a recorded run

::

    envs = roll_vec.make_vec("roll_vec/Countdown-v0", 64, autoreset_mode="Disabled")
    for trajectory in play_seeds(envs, range(1000), policy):
        print(trajectory.seed, trajectory.total_reward, to_messages(trajectory))
"""

from roll_vec.trajectories.play import Turn, play_seeds
from roll_vec.trajectories.trajectory import (
    Trajectory,
    to_content,
    to_json,
    to_messages,
)

__all__ = ["Trajectory", "Turn", "play_seeds", "to_content", "to_json", "to_messages"]
