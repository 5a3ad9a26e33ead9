"""Trajectories: whole episodes of one environment each, played by any policy.

In reading order:

- `trajectory`: the data class of an episode
- `turn`: the arguments of a policy
- `play`: play each seed of a list once, in a batch
- `messages`: an episode of texts as the messages of a chat
- `json_values`: infos as JSON has them

::

    envs = roll_vec.make_vec("roll_vec/Countdown-v0", 64, autoreset_mode="Disabled")
    for trajectory in play_seeds(envs, range(1000), policy):
        print(trajectory.seed, trajectory.total_reward, to_messages(trajectory))
"""

from roll_vec.trajectories.json_values import to_json
from roll_vec.trajectories.messages import to_messages
from roll_vec.trajectories.play import BatchStep, play_seeds, play_steps
from roll_vec.trajectories.trajectory import Trajectory
from roll_vec.trajectories.turn import Policy, Turn

__all__ = [
    "BatchStep",
    "Policy",
    "Trajectory",
    "Turn",
    "play_seeds",
    "play_steps",
    "to_json",
    "to_messages",
]
