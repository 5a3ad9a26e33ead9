"""RAGEN's `EnvStateManager` on batches: one vector environment for each tag.

RAGEN steps its environments one by one.  Here the n-th actions of a turn, of all
environments of a tag, are one call of ``step``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from roll_vec.adapters.ragen.batches import Batch
from roll_vec.adapters.ragen.envs import find_env_class
from roll_vec.adapters.ragen.metrics import add_pass_at_k, measure_rollout
from roll_vec.errors import InvalidOptionError, ResetNeededError
from roll_vec.options import check_int, check_unknown, keywords_of
from roll_vec.seeding import check_seed, draw_entropy

# Of validation, where the config has no seed.
_VAL_SEED = 123
# RAGEN draws the seed of a training without one below this.
_MAX_DRAWN_SEED = 1_000_001
_INPUT_KEYS = {"env_id", "actions", "llm_response", "llm_raw_response"}


@dataclass
class EnvStatus:
    """The state of an environment's episode; the names are RAGEN's.

    ``terminated``: the episode has ended; ``truncated``: it has, without success.
    ``rewards`` has the sum of each turn's rewards.
    """

    truncated: bool = False
    terminated: bool = False
    num_actions: int = 0
    rewards: list[float] = field(default_factory=list)
    seed: int | None = None


@dataclass
class Turn:
    """The results of the actions of one environment in one turn."""

    reward: float = 0
    raw_reward: float = 0.0
    has_ended: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    actions: list[Any] = field(default_factory=list)


class Member:
    """One environment of a batch, as the items of `EnvStateManager.envs` have it."""

    def __init__(self, batch: Batch, row: int) -> None:
        self.batch, self.row, self.config = batch, row, batch.config

    def render(self) -> Any:
        """Return the present observation."""
        return self.batch.observations[self.row]


def valid_actions(entry: Mapping[str, Any], actions: Sequence[str]) -> list[Any]:
    """Return the actions of known names as numbers; texts as they are."""
    lookup = getattr(entry["config"], "action_lookup", None)
    if lookup is None:
        return list(actions)
    numbers = {name.lower(): number for number, name in lookup.items()}
    names = map(str.lower, actions)
    return [numbers[name] for name in names if name in numbers]


def play(
    entries: Sequence[Mapping[str, Any]], plans: Sequence[Sequence[Any]]
) -> list[Turn]:
    """Take the actions of each environment until they, or its episode, end."""
    turns = [Turn() for _ in entries]
    for n in range(max(map(len, plans), default=0)):
        parts: dict[Batch, dict[int, Any]] = {}
        by_place: dict[tuple[Batch, int], Turn] = {}
        for entry, plan, turn in zip(entries, plans, turns, strict=True):
            if n < len(plan) and not turn.has_ended:
                member = entry["env"]
                parts.setdefault(member.batch, {})[member.row] = plan[n]
                by_place[member.batch, member.row] = turn
        for batch, actions in parts.items():
            for row, result in batch.step(actions).items():
                turn = by_place[batch, row]
                turn.reward += result.reward
                turn.raw_reward += result.info.get("raw_reward", 0.0)
                turn.info.update(result.info)
                turn.actions.append(actions[row])
                turn.has_ended = result.has_ended
    for turn in turns:
        turn.info["raw_reward"] = turn.raw_reward
    return turns


def finish_turn(
    entry: Mapping[str, Any],
    history: list[dict[str, Any]],
    turn: Turn,
    env_input: Mapping[str, Any],
) -> None:
    """Write a turn into the status and the history of its environment."""
    status, limit = entry["status"], entry["max_actions_per_traj"]
    status.num_actions += len(turn.actions)
    status.rewards.append(turn.reward)
    if turn.has_ended:
        status.terminated = True
        status.truncated = not turn.info.get("success", False)
    elif status.num_actions >= limit:
        status.terminated = status.truncated = True
    results = {"actions": turn.actions, "reward": turn.reward, "info": turn.info}
    texts = {name: env_input[name] for name in ("llm_response", "llm_raw_response")}
    history[-1].update(results | texts)
    add_state(history, entry, limit - status.num_actions)


def add_state(
    history: list[dict[str, Any]], entry: Mapping[str, Any], actions_left: int
) -> None:
    """Append the present observation to a history, as text or as a picture."""
    state = entry["env"].render()
    turn: dict[str, Any] = {"state": state}
    if isinstance(state, np.ndarray):
        from PIL import Image

        turn = {"state": "<images>", "images": [Image.fromarray(state)]}
    history.append({**turn, "actions_left": actions_left})


class EnvStateManager:
    """The groups of a rollout, as RAGEN's agent proxy drives them.

    Parameters
    ----------
    config
        RAGEN's whole config: ``es_manager``, ``custom_envs``, ``seed``.  Of a tag it
        reads ``env_type``, ``env_config`` and ``max_actions_per_traj``;
        ``parallel_friendly`` and ``max_workers`` have no meaning here.
    mode : str
        ``train`` or ``val``, the key of ``es_manager``.

    Attributes
    ----------
    envs : list of dict
        By environment: ``tag``, ``group_id``, ``env_id``, ``env``, ``config``,
        ``status`` (`EnvStatus`), ``max_actions_per_traj``.
    rollout_cache : list of dict, or None
        The rollouts, as `reset` returns them.

    Raises
    ------
    InvalidOptionError
    """

    def __init__(self, config: Any, mode: str = "train") -> None:
        self.sys_config, self.mode = config, mode
        self.config = getattr(config.es_manager, mode)
        self.env_groups = int(self.config.env_groups)
        self.group_size = int(self.config.group_size)
        seeds = getattr(config, "seed", None)
        self.base_seed = None if seeds is None else seeds.get(mode, None)
        self.seed_counter = 0
        self.rollout_cache: list[dict[str, Any]] | None = None
        env_configs = self.config.env_configs
        tags, n_groups = list(env_configs.tags), list(env_configs.n_groups)
        if len(tags) != len(n_groups) or sum(n_groups) != self.env_groups:
            accepted = (
                f"as many numbers as tags, {len(tags)}, with the sum "
                f"env_groups={self.env_groups}"
            )
            raise InvalidOptionError.expected("n_groups", accepted, n_groups)
        self.envs: list[dict[str, Any]] = []
        self._batches: list[Batch] = []
        for tag, count in zip(tags, n_groups, strict=True):
            self._add_groups(tag, count * self.group_size)

    def _add_groups(self, tag: str, num_envs: int) -> None:
        template = self.sys_config.custom_envs[tag]
        name = f"custom_envs.{tag}.env_type"
        env_class = find_env_class(name, template.env_type)
        env_config = template.env_config or {}
        check_unknown(env_config, keywords_of(env_class.CONFIG))
        config = env_class.CONFIG(**env_config)
        name = f"custom_envs.{tag}.max_actions_per_traj"
        max_actions = check_int(name, template.max_actions_per_traj, 1)
        batch = env_class.BATCH(config, num_envs)
        self._batches.append(batch)
        for row in range(num_envs):
            env_id = len(self.envs)
            self.envs.append(
                {
                    "tag": tag,
                    "group_id": env_id // self.group_size,
                    "env_id": env_id,
                    "env": Member(batch, row),
                    "config": config,
                    "status": EnvStatus(),
                    "max_actions_per_traj": max_actions,
                }
            )

    def reset(self, seed: int | None = None) -> list[dict[str, Any]]:
        """Start the episodes of all environments; group j has the seed ``seed + j``.

        Parameters
        ----------
        seed : int or None
            None: in training the seeds after those of the last reset, from the
            config's seed on (without one, drawn from the operating system); in
            validation always the same.

        Returns
        -------
        list of dict
            ``env_id``, ``group_id``, ``tag``, ``penalty`` and ``history``: a list of
            turns with ``state`` and ``actions_left`` (``images`` with pictures).
        """
        seed = self._next_seed(None if seed is None else check_seed(seed))
        seeds = [seed + entry["group_id"] for entry in self.envs]
        start = 0
        for batch in self._batches:
            stop = start + batch.envs.num_envs
            batch.reset(seeds[start:stop], self.mode)
            start = stop
        self.rollout_cache = []
        for entry, own_seed in zip(self.envs, seeds, strict=True):
            entry["status"] = EnvStatus(seed=own_seed)
            rollout = {key: entry[key] for key in ("env_id", "group_id", "tag")}
            rollout |= {"history": [], "penalty": 0}
            add_state(rollout["history"], entry, entry["max_actions_per_traj"])
            self.rollout_cache.append(rollout)
        return self.rollout_cache

    def _next_seed(self, seed: int | None) -> int:
        if self.mode != "train":
            base = _VAL_SEED if self.base_seed is None else self.base_seed
            return base if seed is None else seed
        if seed is not None:
            if self.base_seed is not None:
                self.seed_counter = seed - self.base_seed + 1
            return seed
        if self.base_seed is None:
            return draw_entropy() % _MAX_DRAWN_SEED
        seed = self.base_seed + self.seed_counter
        self.seed_counter += self.env_groups
        return seed

    def step(self, all_env_inputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Take a turn in some environments that have not ended.

        Parameters
        ----------
        all_env_inputs : list of dict
            ``env_id``, ``actions`` (names of actions, or texts), ``llm_response`` and
            ``llm_raw_response``.

        Returns
        -------
        list of dict
            The rollouts of those that go on, see `reset`.

        Raises
        ------
        InvalidOptionError
            For an environment that is not there, or that stands twice in the list;
            nothing has moved then.
        ResetNeededError
            Before a reset, and for an episode that has ended.
        """
        entries = self._check_inputs(all_env_inputs)
        plans = []
        for entry, env_input in zip(entries, all_env_inputs, strict=True):
            actions = valid_actions(entry, env_input["actions"])
            left = entry["max_actions_per_traj"] - entry["status"].num_actions
            plans.append((actions, actions[:left]))
        turns = play(entries, [plan for _, plan in plans])
        outputs = []
        for entry, env_input, turn, (actions, _) in zip(
            entries, all_env_inputs, turns, plans, strict=True
        ):
            rollout = self._rollouts()[entry["env_id"]]
            if not actions or len(actions) != len(env_input["actions"]):
                rollout["penalty"] += self.sys_config.es_manager.format_penalty
            if not actions:
                turn.info["manager_invalid_action"] = True
            finish_turn(entry, rollout["history"], turn, env_input)
            if not actions:
                rollout["history"][-1]["manager_invalid_action"] = True
            if not entry["status"].terminated:
                outputs.append(rollout)
        return outputs

    def _rollouts(self) -> list[dict[str, Any]]:
        if self.rollout_cache is None:
            message = "the environments must be reset first"
            raise ResetNeededError(message)
        return self.rollout_cache

    def _check_inputs(
        self, all_env_inputs: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the environments of a turn."""
        self._rollouts()
        if not isinstance(all_env_inputs, (list, tuple)):
            accepted = "a list of dict"
            raise InvalidOptionError.expected(
                "all_env_inputs", accepted, all_env_inputs
            )
        for env_input in all_env_inputs:
            keys = env_input.keys() if isinstance(env_input, Mapping) else ()
            if missing := _INPUT_KEYS.difference(keys):
                accepted = f"a dict that has {', '.join(sorted(missing))} as well"
                raise InvalidOptionError.expected("env_input", accepted, env_input)
            actions = env_input["actions"]
            is_list = isinstance(actions, Sequence) and not isinstance(actions, str)
            if not is_list or not all(isinstance(action, str) for action in actions):
                raise InvalidOptionError.expected("actions", "a list of str", actions)
        last = len(self.envs) - 1
        env_ids = [check_int("env_id", i["env_id"], 0, last) for i in all_env_inputs]
        if len(set(env_ids)) < len(env_ids):
            raise InvalidOptionError.expected("env_id", "each at most once", env_ids)
        ended = [i for i in env_ids if self.envs[i]["status"].terminated]
        if ended:
            message = f"the episodes of environments {ended} have ended"
            raise ResetNeededError(message)
        return [self.envs[env_id] for env_id in env_ids]

    def get_state(self) -> dict[str, Any]:
        """Return the state of all environments and their rollouts; it can be pickled.

        The seeds of later resets are no part of it.

        Raises
        ------
        ResetNeededError
        """
        statuses = [entry["status"] for entry in self.envs]
        own = {"statuses": statuses, "rollouts": self._rollouts()}
        batches = [batch.get_state() for batch in self._batches]
        return {**copy.deepcopy(own), "batches": batches}

    def set_state(
        self, state: Mapping[str, Any], rows: Sequence[int] | None = None
    ) -> list[dict[str, Any]]:
        """Go to a state of `get_state`, of a manager with the same tags.

        Parameters
        ----------
        state : dict
        rows : sequence of int, or None
            For each environment the one of the state that it becomes a copy of, which
            has the same tag; None: that of its own number.

        Returns
        -------
        list of dict
            The rollouts, see `reset`.

        Raises
        ------
        InvalidOptionError
            If ``rows`` do not fit; no environment has moved then.
        InvalidStateError
        """
        rollouts, last = state["rollouts"], len(state["rollouts"]) - 1
        chosen = list(range(len(self.envs)) if rows is None else rows)
        chosen = [check_int("rows", row, 0, last) for row in chosen]
        tags = [entry["tag"] for entry in self.envs]
        if [rollouts[row]["tag"] for row in chosen] != tags:
            accepted = f"environments of the tags {tags}"
            raise InvalidOptionError.expected("rows", accepted, chosen)
        start = first = 0
        for batch, own in zip(self._batches, state["batches"], strict=True):
            stop = start + batch.envs.num_envs
            batch.set_state(own, [row - first for row in chosen[start:stop]])
            start, first = stop, first + len(own["observations"])
        self.rollout_cache = copy.deepcopy([rollouts[row] for row in chosen])
        for entry, rollout, row in zip(
            self.envs, self.rollout_cache, chosen, strict=True
        ):
            entry["status"] = copy.deepcopy(state["statuses"][row])
            rollout.update(env_id=entry["env_id"], group_id=entry["group_id"])
        return self.rollout_cache

    def fork(self, k: int) -> list[EnvStateManager]:
        """Return k copies of this manager, which go on by themselves.

        Raises
        ------
        InvalidOptionError
        """
        count = check_int("k", k, 1)
        configs = {id(one): one for one in (self.sys_config, self.config)}
        return [copy.deepcopy(self, dict(configs)) for _ in range(count)]

    def get_rollout_states(self) -> list[dict[str, Any]]:
        """Return the rollouts with their ``metrics``; see `measure_rollout`."""
        rollouts = self._rollouts()
        for entry, rollout in zip(self.envs, rollouts, strict=True):
            status, history = entry["status"], rollout["history"]
            success = status.terminated and not status.truncated
            rollout["metrics"], history[-1]["metrics"] = measure_rollout(
                history, entry["tag"], success, status.num_actions
            )
        add_pass_at_k(rollouts, self.group_size)
        return rollouts

    def render(self) -> list[Any]:
        """Return the observations of all environments."""
        return [entry["env"].render() for entry in self.envs]

    def close(self) -> None:
        """Close all environments."""
        for batch in self._batches:
            batch.close()
