"""Batches in TorchRL: check_env_specs, the rollouts of SyncVectorEnv, masks, texts.

`tests.frameworks` runs this file where TorchRL is installed.
"""

import json
import sys
import warnings
from pathlib import Path

import gymnasium
import torch
from gymnasium.vector import SyncVectorEnv
from side_by_side import measure, share_of_calls
from tensordict import NonTensorStack
from torchrl.data import Unbounded
from torchrl.envs import ActionMask, GymEnv, GymWrapper, TransformedEnv
from torchrl.envs.gym_like import default_info_dict_reader
from torchrl.envs.utils import check_env_specs

import roll_vec  # noqa: F401  # registers the ids

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
FROZEN_LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"
SHORT = {"action_start": 0, "max_episode_steps": 8}
CASES = (
    (SOKOBAN, SHORT),
    (SOKOBAN, {**SHORT, "obs_mode": "planes", "action_mask": True}),
    (LAKE, {**SHORT, "obs_mode": "tiny_rgb"}),
    (LAKE, {"action_start": 0, "is_slippery": False}),
    (FROZEN_LAKE, {}),
)
NUM_ENVS = 1000
MODES = ("SameStep", "Disabled")
# The rooms are drawn before the measurement.
ROOMS = {"action_start": 0, "num_levels": 256, "obs_mode": "planes"}


def make_batch(id, num_envs, mode, **keywords):
    """Return a batch of roll_vec in TorchRL."""
    batch = gymnasium.make_vec(id, num_envs, autoreset_mode=mode, **keywords)
    return wrap(batch, id)


def make_sync(id, num_envs, mode, **keywords):
    """Return Gymnasium's batch of single environments in TorchRL."""
    env_fns = [lambda: gymnasium.make(id, **keywords)] * num_envs
    return wrap(SyncVectorEnv(env_fns, autoreset_mode=mode), id)


def wrap(batch, id):
    """Return TorchRL's wrapper; numbers as one-hot vectors fail in SameStep mode."""
    return GymWrapper(batch, categorical_action_encoding=id == FROZEN_LAKE)


def check_specs():
    """Run `check_env_specs`; return the number of environments that pass."""
    envs = [
        make_batch(id, 5, mode, **keywords) for id, keywords in CASES for mode in MODES
    ]
    envs += [GymEnv(id, **keywords) for id, keywords in CASES]
    texts = {**SHORT, "obs_mode": "text"}
    envs += [GymEnv(SOKOBAN, **texts), make_batch(SOKOBAN, 5, "Disabled", **texts)]
    envs.append(GymEnv(COUNTDOWN))
    for env in envs:
        check_env_specs(env)
        env.close()
    return len(envs)


def roll_out(env, num_steps):
    """Return a rollout of random actions, the same in every environment."""
    env.set_seed(3)
    torch.manual_seed(0)
    return env.rollout(num_steps, break_when_any_done=False)


def compare_rollouts(num_envs=NUM_ENVS, num_steps=20):
    """Compare rollouts over both batches; return the number of episodes."""
    num_ends = 0
    for id, keywords in CASES:
        by_mode = []
        for mode in MODES:
            ours = roll_out(make_batch(id, num_envs, mode, **keywords), num_steps)
            theirs = roll_out(make_sync(id, num_envs, mode, **keywords), num_steps)
            by_mode.append(ours)
            keys = set(ours.keys(include_nested=True, leaves_only=True))
            assert keys == set(theirs.keys(include_nested=True, leaves_only=True))
            for key in keys:
                assert ours[key].dtype == theirs[key].dtype
                assert torch.equal(ours[key], theirs[key]), (id, mode, key)
            num_ends += int(ours["next", "done"].sum())
        # The last observations are the true ones in both modes.
        same_step, disabled = by_mode
        done = same_step["next", "done"][..., 0].int()
        first_episode = done.cumsum(1) - done == 0
        for key in ("observation", ("next", "observation"), ("next", "reward")):
            own, other = same_step[key][first_episode], disabled[key][first_episode]
            assert torch.equal(own, other), (id, key)
    return num_ends


def act_by_masks(td):
    """Take a random action that the mask of the present state allows."""
    chosen = torch.multinomial(td["action_mask"].float(), 1)[..., 0]
    return td.set("action", torch.nn.functional.one_hot(chosen, 4))


def check_masks():
    """Act by the masks, with a policy and with TorchRL's random actions."""
    keywords = {**SHORT, "is_slippery": False, "action_mask": True}
    spec = [Unbounded((4,), dtype=torch.int8)]
    reader = default_info_dict_reader(["action_mask"], spec=spec)
    same_step = make_batch(LAKE, 64, "SameStep", **keywords)
    for env in (
        same_step,
        make_batch(LAKE, 64, "Disabled", **keywords).auto_register_info_dict(),
        GymEnv(LAKE, **keywords).set_info_dict_reader(reader),
    ):
        env.set_seed(0)
        torch.manual_seed(0)
        rollout = env.rollout(30, act_by_masks, break_when_any_done=False)
        assert (rollout["action"] * rollout["action_mask"]).any(-1).all()
    rollout = roll_out(TransformedEnv(same_step, ActionMask()), 30)
    assert (rollout["action"] * rollout["action_mask"]).any(-1).all()


def check_texts():
    """Answer with texts."""
    env = make_batch(COUNTDOWN, 8, "Disabled")
    start = env.reset(seed=0)
    start["action"] = NonTensorStack(*env.unwrapped.call("oracle_action"))
    assert (env.step(start)["next", "reward"] == 1).all()


def rolling(env, num_steps=32):
    """Return a function that rolls out random actions."""
    env.set_seed(0)

    def work():
        env.rollout(num_steps, break_when_any_done=False)
        return num_steps * env.batch_size.numel()

    return work


def measure_rates():
    """Return the rows of rates."""
    rows = []
    for num_envs, mode in ((64, "SameStep"), (64, "Disabled"), (512, "Disabled")):
        makers = (make_sync, make_batch)
        envs = [make(SOKOBAN, num_envs, mode, **ROOMS) for make in makers]
        timed = [make(SOKOBAN, num_envs, mode, **ROOMS) for make in makers]
        shares = [share_of_calls(rolling(env), env.unwrapped) for env in timed]
        name = f"Sokoban, {num_envs} environments: rollout, {mode}"
        result = "steps take {:.0f} % of the time with theirs, {:.0f} % with ours"
        rows.append(
            {
                "what": f"{name}, beside SyncVectorEnv",
                "result": result.format(*shares),
                "unit": "steps/s",
                **measure(*map(rolling, envs)),
            }
        )
    return rows


def main():
    """Compare, measure, and write the rows."""
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "Nested TransformedEnvs")
    num_envs = check_specs()
    rows = [{"what": "its check_env_specs", "result": f"{num_envs} pass"}]
    num_ends = compare_rollouts()
    what = f"{NUM_ENVS} seeds of {len(CASES)} configurations beside SyncVectorEnv"
    rows.append(
        {"what": what, "result": f"equal rollouts in two modes, {num_ends:,} episodes"}
    )
    check_masks()
    check_texts()
    rows.append({"what": "masks; batches of texts", "result": "run"})
    rows += measure_rates()
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
