"""Run all checks and raise one error with their findings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection
from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.testing import (
    checks_instances,
    checks_resets,
    checks_results,
    checks_steps,
)
from roll_vec.testing.check import Check
from roll_vec.testing.context import Context, Maker
from roll_vec.testing.errors import (
    TRACEBACK,
    CallFailed,
    DoesNotApply,
    TimeLimitExceeded,
    describe_cause,
    describe_error,
    time_limit,
)
from roll_vec.testing.report import ConformanceError, Finding, Problem, Report

# The order matters: later checks skip features that an earlier one found unsupported.
GROUPS = (
    checks_instances.CONSTRUCTION,
    checks_results.RESULTS,
    checks_results.INFOS,
    checks_resets.SEEDS,
    checks_results.MEMORY,
    checks_resets.PARTIAL_RESET,
    checks_steps.AUTORESET,
    checks_steps.MISUSE,
    checks_instances.LIFECYCLE,
)
# Codes and titles of findings that belong to no check.
GENERAL = {
    "raises": "documented uses raise nothing",
    "close-raises": "close() raises nothing",
    "call-limit": "calls return in time",
}
# Checks to name that met the same error.
_MAX_CHECKS = 4
# Matches the warnings by which a pool reports an error of an environment.
_WITH_TRACEBACK = rf"(?s).*{re.escape(TRACEBACK)}"


def check_vector_env(
    id_or_factory: str | Callable[..., Any],
    *,
    seed: int = 0,
    steps: int = 300,
    ignore: Collection[str] = (),
    call_limit: float | None = 60.0,
) -> None:
    """Check that a vector environment keeps the contract of Gymnasium's VectorEnv.

    It makes many small batches, steps them with random actions, compares them with each
    other and closes them.  `roll_vec.testing` lists the checks.

    Parameters
    ----------
    id_or_factory : str or callable
        An id, made with ``gymnasium.make_vec(id, num_envs=...)``, or a callable
        ``factory(num_envs=..., autoreset_mode=...)`` that returns a new vector
        environment.  `autoreset_mode` is a `gymnasium.vector.AutoresetMode`.  If it is
        refused, that is one finding, and only the default mode is checked.  A factory
        that also takes `render_mode` is checked for rendering.
    seed : int
        The first seed that is used; the actions depend on it too.
    steps : int
        Length of the long runs.  Several episodes should end within.
    ignore : collection of str
        Codes of findings not to report.
    call_limit : float or None
        Seconds that one check may take in one autoreset mode.  A longer one is
        interrupted, and the checker stops.  The limit is a POSIX timer in the main
        thread; elsewhere, and in compiled loops, there is none.

    Raises
    ------
    ConformanceError
        An AssertionError that lists all findings.
    ValueError
        When `ignore` has a code that is unknown or vital for all others, or when
        `seed` or `steps` is out of range.

    Warns
    -----
    UserWarning
        When no episode ended within `steps` steps: calls after an end were not checked.

    Notes
    -----
    Results are compared bit for bit.  Warnings of the environment are not shown; a
    traceback in one of them is added to the finding of its error.  Global random
    generators are neither seeded nor read.
    """
    _refuse_bad_arguments(seed, steps, ignore)
    context = Context(Maker(id_or_factory), seed, steps)
    run = _Run(context, frozenset(ignore), call_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", message=_WITH_TRACEBACK)
        warnings.showwarning = lambda message, *_: context.tracebacks.append(
            str(message)
        )
        run.run_all()
    if run.report.findings:
        raise ConformanceError(run.report)
    if not context.any_episode_ended():
        warnings.warn(
            f"{context.maker.name}: no episode ended within {steps} steps, so nothing "
            "that happens after an end was checked; pass a larger `steps`, or make "
            "the environment with a shorter time limit",
            stacklevel=2,
        )


def _refuse_bad_arguments(seed: int, steps: int, ignore: Collection[str]) -> None:
    if seed < 0 or steps < 1:
        msg = f"seed must be >= 0 and steps >= 1, got seed={seed}, steps={steps}"
        raise ValueError(msg)
    checks = [check for group in GROUPS for check in group.checks]
    # After a vital check that finds something nothing else is checked.
    ignorable = {check.slug for check in checks if not check.vital} | GENERAL.keys()
    wrong = sorted(set(ignore) - ignorable)
    if wrong:
        msg = f"codes that cannot be ignored: {wrong}; others: {sorted(ignorable)}"
        raise ValueError(msg)


class _Run:
    """One run of all checks."""

    def __init__(
        self, context: Context, ignore: frozenset[str], limit: float | None
    ) -> None:
        self.context, self.ignore, self.limit = context, ignore, limit
        self.report = Report(context.maker.name)
        # By error: an error that several checks met is one finding.
        self._raised: dict[str, tuple[str, str, list[str]]] = {}
        self._is_stopped = False

    def run_all(self) -> None:
        try:
            with time_limit(self.limit):
                self.context.explore()
        except TimeLimitExceeded:
            self._report_overrun("making it")
        for group in GROUPS:
            for check in group.checks:
                if not self._is_stopped:
                    self._check(group.name, check)
        self._add_errors()

    def _check(self, group: str, check: Check) -> None:
        problems: list[Problem] = []
        modes: list[str] = []
        reasons: list[str] = []
        num_runs = 0
        for mode in self._modes_of(check):
            new: list[Problem] = []
            try:
                self._collect(check, mode, new)
                num_runs += 1
            except DoesNotApply as error:
                reasons.append(str(error))
            if new:
                # Other modes mostly have the same problems: naming them is enough.
                problems = problems or new
                modes.append(mode.name)
            if self._is_stopped:
                break
        if num_runs or problems:
            self.report.ran += 1
        else:
            reason = reasons[0] if reasons else f"there is no mode {_only(check)}"
            self.report.not_applicable[check.slug] = reason
        if problems:
            self._is_stopped |= check.vital
            facts = check.slug, group, check.title
            self._add(Finding(*facts, tuple(problems), tuple(modes)))

    def _modes_of(self, check: Check) -> tuple[AutoresetMode, ...]:
        available = self.context.modes
        if check.modes == "each":
            return available
        if check.modes == "once":
            # Without a single instance the check that reports this still runs.
            return available[:1] or (AutoresetMode.NEXT_STEP,)
        return tuple(mode for mode in available if mode is check.modes)

    def _collect(
        self, check: Check, mode: AutoresetMode, problems: list[Problem]
    ) -> None:
        try:
            with time_limit(self.limit):
                for problem in check.run(self.context, mode):
                    problems.append(problem)
        except TimeLimitExceeded:
            self._report_overrun(f"the check [{check.slug}] in mode {mode.name}")
        except CallFailed as failure:
            self._remember(failure.did, failure.error, check)
        except DoesNotApply:
            raise
        except Exception as error:
            self._remember("an attribute or a result was used", error, check)

    def _remember(self, did: str, error: BaseException, check: Check) -> None:
        entry = did, describe_cause(error), list[str]()
        checks = self._raised.setdefault(describe_error(error), entry)[2]
        if check.slug not in checks:
            checks.append(check.slug)

    def _report_overrun(self, what: str) -> None:
        self._is_stopped = True
        problem = Problem(
            what,
            f"it was still running after {self.limit} s, and the checker stopped here",
            "calls that return; raise `call_limit` or lower `steps` if it is only slow",
        )
        self._add_general("call-limit", [problem])

    def _add_errors(self) -> None:
        raised = [
            Problem(did, error, f"no error; met in {_join_codes(checks)}", cause)
            for error, (did, cause, checks) in self._raised.items()
        ]
        closings = [
            Problem(f"{call}; …; close()", error, "no error")
            for error, call in self.context.failed_closings.items()
        ]
        self._add_general("raises", raised)
        self._add_general("close-raises", closings)

    def _add_general(self, slug: str, problems: list[Problem]) -> None:
        if problems:
            self._add(Finding(slug, "General", GENERAL[slug], tuple(problems), ()))

    def _add(self, finding: Finding) -> None:
        if finding.slug not in self.ignore:
            self.report.findings.append(finding)


def _join_codes(checks: list[str]) -> str:
    others = len(checks) - _MAX_CHECKS
    more = f" and {others} more checks" if others > 0 else ""
    return ", ".join(f"[{slug}]" for slug in checks[:_MAX_CHECKS]) + more


def _only(check: Check) -> str:
    return check.modes.name if isinstance(check.modes, AutoresetMode) else "at all"
