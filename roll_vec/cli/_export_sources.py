"""The episodes that a command line of ``roll-vec export`` names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from roll_vec.cli._arguments import refuse_arguments
from roll_vec.cli._chat_arguments import is_endpoint, make_endpoint, refuse_chat
from roll_vec.cli._errors import argument_error
from roll_vec.cli._policies import make_turn_policy
from roll_vec.errors import one_line
from roll_vec.evaluation import play_chat
from roll_vec.export import (
    FORMATS,
    NUM_ENVS,
    Source,
    player_source,
    policy_source,
    recorded_source,
)
from roll_vec.recordings.environments import (
    find_spec,
    full_id,
    is_pooled,
    make_or_refuse,
)
from roll_vec.recordings.files import load_run
from roll_vec.recordings.trajectories import read_trajectories
from roll_vec.registration import ENVIRONMENTS
from roll_vec.trajectories import Trajectory

__all__ = ["make_source"]

# Rows, unless --num says otherwise.
_NUM = 1000
# Keywords of games on grids, for formats of texts.
_TEXTS = {
    "obs_mode": "text",
    "action_mode": "text",
    "action_pattern": "<answer>(.*?)</answer>",
}


def make_source(arguments: argparse.Namespace) -> tuple[Source, int | None]:
    """Return the episodes to export, and the number of rows; None: all.

    Raises
    ------
    UsageError
        If an argument cannot be used.
    InvalidFileError
        If the file of a run is damaged.
    MissingExtraError
    """
    if arguments.source.lower().endswith(".npz"):
        return _recorded(arguments), arguments.num
    id = full_id(arguments.source)
    spec = find_spec(id)
    keywords = dict(arguments.options)
    policy = "oracle" if arguments.policy is None else arguments.policy
    if spec.id not in ENVIRONMENTS:
        text = f"expected an id of this package or of roll_vec.register, got {id!r}"
        raise argument_error("ID", text)
    needs_texts = FORMATS[arguments.format].needs_texts or is_endpoint(policy)
    if needs_texts and not is_pooled(spec):
        keywords = {**_TEXTS, **keywords}
    make = _chat_source if is_endpoint(policy) else _policy_source
    source = make_or_refuse(id, lambda: make(id, policy, keywords, arguments))
    return source, arguments.num or _NUM


def _policy_source(
    id: str, policy: str, keywords: dict[str, Any], arguments: argparse.Namespace
) -> Source:
    """Return the episodes of a policy that acts in a batch."""
    refuse_chat(arguments)
    return policy_source(
        id,
        lambda envs: make_turn_policy(policy, envs, arguments.seed),
        policy,
        keywords=keywords,
        start_seed=arguments.seed,
        num_envs=arguments.num_envs or NUM_ENVS,
    )


def _chat_source(
    id: str, policy: str, keywords: dict[str, Any], arguments: argparse.Namespace
) -> Source:
    """Return the episodes of a model behind an endpoint."""
    endpoint = make_endpoint(policy, arguments)

    def play(envs: Any, seeds: Sequence[int], first: int) -> Iterator[Trajectory]:
        del first
        return play_chat(
            envs,
            seeds,
            endpoint,
            history=arguments.history,
            on_error=arguments.on_error,
        )

    facts = {**endpoint.to_json(), "history": arguments.history}
    return player_source(
        id,
        play,
        {"policy": arguments.model, "endpoint": facts},
        keywords=keywords,
        start_seed=arguments.seed,
        num_envs=arguments.concurrency,
    )


def _recorded(arguments: argparse.Namespace) -> Source:
    """Return the episodes of a recorded run."""
    read = {"source", "format", "out", "num", "only_success"}
    read |= {"verify", "overwrite", "quiet"}
    # --verify reads --num-envs, and --num reads --max-episodes.
    read |= {"num_envs"} if arguments.verify else set()
    read |= {"max_episodes"} if arguments.num is not None else set()
    unread = arguments.changes.keys() - read
    refuse_arguments(arguments, unread, "with a recorded run")
    path = Path(arguments.source)
    try:
        run = load_run(path)
    except OSError as error:
        text = f"cannot read {str(path)!r}: {error.strerror or one_line(error)}"
        raise argument_error("FILE", text) from error
    files = {name: file.path for name, file in run.setup.data_files.items()}
    envs = run.setup.make_batch({})
    envs.close()
    return recorded_source(
        run.setup.id,
        {**run.setup.options, **files},
        envs.single_observation_space,
        envs.single_action_space,
        lambda: read_trajectories(run),
        path,
    )
