"""Misuse a vector environment in the middle of a run and see whether it notices."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.testing.context import Context
from roll_vec.testing.findings import CallFailed, describe_error
from roll_vec.testing.player import Call, replay

__all__ = ["Disturbance", "Moved", "disturb"]


@dataclass(frozen=True)
class Moved:
    """How a run went on otherwise after a step that was refused."""

    did: str
    found: str


@dataclass(frozen=True)
class Disturbance:
    """What came of steps that should be refused.

    Parameters
    ----------
    accepted : str or None
        What was done when one was not refused.
    moved : Moved or None
        What was different after they were refused.
    """

    accepted: str | None = None
    moved: Moved | None = None


def disturb(
    ctx: Context,
    mode: AutoresetMode,
    *,
    when: Callable[[Call], bool],
    actions: Callable[[Any], Any],
    what: str,
    calls: int | None = None,
) -> Disturbance:
    """Repeat the long run with steps in between that should be refused.

    Parameters
    ----------
    ctx : Context
        Its long run in `mode` is repeated.
    mode : AutoresetMode
        The mode.
    when : callable
        Whether to misuse the environment after this call.
    actions : callable
        Makes the actions of the misuse from proper ones.
    what : str
        The misuse in words.
    calls : int, optional
        How much of the run to repeat.
    """
    reference = ctx.played(mode).calls[:calls]
    proper = [call.actions for call in reference if call.is_step][-1]
    refused: str | None = None
    with ctx.open(mode) as probe:
        try:
            for call, found in replay(probe, reference):
                if found is not None and refused is not None:
                    found = f"{found} (left: without the step that was refused)"
                    return Disturbance(
                        moved=Moved(f"{refused}; then the next call", found)
                    )
                if found is not None:
                    break  # not deterministic: another finding
                if when(call):
                    refused = f"{probe.told(what)}, which was refused"
                    if not probe.refuses(actions(copy.deepcopy(proper))):
                        return Disturbance(accepted=probe.told(what))
        except CallFailed as failure:
            if refused is None:
                raise
            error = f"{describe_error(failure.error)}: the batch is lost"
            return Disturbance(moved=Moved(f"{refused}; then the next call", error))
    return Disturbance()
