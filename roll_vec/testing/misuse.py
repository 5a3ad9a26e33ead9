"""Misuse a vector environment in the middle of a run and see whether it notices."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.testing.context import Context
from roll_vec.testing.errors import CallFailed, describe_error
from roll_vec.testing.recorder import Call, replay
from roll_vec.testing.report import Problem


@dataclass(frozen=True)
class MisuseResult:
    """The outcome of steps that should be refused.

    Parameters
    ----------
    accepted : str or None
        The calls that were made, when such a step was not refused.
    divergence : Problem or None
        The first difference that a refused step made to the run after it.
    """

    accepted: str | None = None
    divergence: Problem | None = None


def misuse(
    ctx: Context,
    mode: AutoresetMode,
    *,
    when: Callable[[Call], bool],
    actions: Callable[[Any], Any],
    text: str,
    calls: int | None = None,
) -> MisuseResult:
    """Repeat the long run with steps in between that should be refused.

    Parameters
    ----------
    ctx : Context
        Its long run in `mode` is repeated.
    mode : AutoresetMode
    when : callable
        Returns whether to misuse the environment after this call.
    actions : callable
        Makes the actions of the misuse from proper ones.
    text : str
        The misuse in words.
    calls : int, optional
        Number of calls of the run to repeat; all by default.
    """
    reference = ctx.long_run(mode).calls[:calls]
    proper = [call.actions for call in reference if call.is_step][-1]
    refusal: str | None = None

    def diverged(difference: str) -> MisuseResult:
        did = f"{refusal}; then the next call"
        rule = "the same results: the batch is checked before anything has moved"
        return MisuseResult(divergence=Problem(did, difference, rule))

    with ctx.open(mode) as probe:
        try:
            for call, difference in replay(probe, reference):
                if difference is not None and refusal is None:
                    break  # not deterministic: another finding
                if difference is not None:
                    return diverged(
                        f"{difference} (left: without the step that was refused)"
                    )
                if when(call):
                    refusal = f"{probe.describe(text)}, which was refused"
                    if not probe.refuses(actions(copy.deepcopy(proper))):
                        return MisuseResult(accepted=probe.describe(text))
        except CallFailed as failure:
            if refusal is None:
                raise
            return diverged(f"{describe_error(failure.error)}: the batch is lost")
    return MisuseResult()
