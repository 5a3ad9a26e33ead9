"""Run all checks and raise one error with their findings."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from gymnasium.vector import AutoresetMode

from roll_vec.testing import (
    checks_instances,
    checks_lifecycle,
    checks_resets,
    checks_results,
    checks_steps,
)
from roll_vec.testing.check import Check
from roll_vec.testing.context import Context
from roll_vec.testing.errors import (
    TRACEBACK,
    CallFailed,
    DoesNotApply,
    TimeLimitExceeded,
    describe_error,
    time_limit,
)
from roll_vec.testing.report import ConformanceError, Finding, Problem

# The order matters: later checks skip features that an earlier one found unsupported.
_MODULES = (
    checks_instances,
    checks_results,
    checks_resets,
    checks_steps,
    checks_lifecycle,
)
_ALL = (value for module in _MODULES for value in vars(module).values())
CHECKS = [value for value in _ALL if isinstance(value, Check)]
# Codes of findings that belong to no check.
GENERAL = "raises", "close-raises", "call-limit"
# Problems to report of one code in one mode; the others are mostly more of the same.
_MOST = 3
# By code, mode and place.
_Problems: TypeAlias = dict[str, dict[str, dict[str, Problem]]]
# Codes to name that met the same error.
_MAX_CODES = 4
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
        Seconds that the checks of one function may take in one autoreset mode.  Longer
        ones are interrupted, and the checker stops.  The limit is a POSIX timer in the
        main thread; elsewhere, and in compiled loops, there is none.

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
    if seed < 0 or steps < 1:
        msg = f"seed must be >= 0 and steps >= 1, got seed={seed}, steps={steps}"
        raise ValueError(msg)
    # After a vital check that finds something nothing else is checked.
    codes = [code for each in CHECKS if not each.is_vital for code in each.codes]
    wrong = sorted({*ignore} - {*codes, *GENERAL})
    if wrong:
        others = sorted([*codes, *GENERAL])
        msg = f"codes that cannot be ignored: {wrong}; others: {others}"
        raise ValueError(msg)
    run = _Run(Context(id_or_factory, seed, steps), call_limit)
    with warnings.catch_warnings(record=True) as run.context.warned:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", message=_WITH_TRACEBACK)
        run.run_all()
    findings = [each for each in run.findings if each.slug not in ignore]
    if findings:
        raise ConformanceError(run.context.name, findings)
    if not run.context.has_ends:
        warnings.warn(
            f"{run.context.name}: no episode ended within {steps} steps, so nothing "
            "that happens after an end was checked; pass a larger `steps`, or make "
            "the environment with a shorter time limit",
            stacklevel=2,
        )


class _Run:
    """One run of all checks."""

    def __init__(self, context: Context, limit: float | None) -> None:
        self.context, self.limit = context, limit
        self.findings: list[Finding] = []
        # By error: an error that several checks met is one finding.
        self._raised: dict[str, tuple[str, str, list[str]]] = {}
        self._is_stopped = False

    def run_all(self) -> None:
        try:
            with time_limit(self.limit):
                self.context.explore()
        except TimeLimitExceeded:
            self._report_overrun("making it")
        for check in CHECKS:
            if not self._is_stopped:
                self._check(check)
        raised = [
            Problem(did, error, f"no error; met in {_join(codes)}", details=cause)
            for error, (did, cause, codes) in self._raised.items()
        ]
        closings = [
            Problem(f"{call}; …; close()", error, "no error")
            for error, call in self.context.failed_closings.items()
        ]
        for slug, problems in (("raises", raised), ("close-raises", closings)):
            if problems:
                self.findings.append(Finding(slug, tuple(problems)))

    def _check(self, check: Check) -> None:
        """Run a function in its modes, and add what it finds."""
        problems: _Problems = {code: {} for code in check.codes}
        for mode in self._modes_of(check):
            if not self._is_stopped:
                self._collect(check, mode, problems)
        for code, by_mode in problems.items():
            if by_mode:
                self._is_stopped |= check.is_vital
                # Other modes mostly have the same problems: naming them is enough.
                first = next(iter(by_mode.values())).values()
                self.findings.append(Finding(code, tuple(first), tuple(by_mode)))

    def _modes_of(self, check: Check) -> tuple[AutoresetMode, ...]:
        available = self.context.modes
        if check.modes == "each":
            return available
        if check.modes == "once":
            # Without a single instance the check that reports this still runs.
            return available[:1] or (AutoresetMode.NEXT_STEP,)
        return tuple(mode for mode in available if mode is check.modes)

    def _collect(self, check: Check, mode: AutoresetMode, problems: _Problems) -> None:
        """Collect the problems in one mode: a few of each code, one of each place."""
        try:
            with time_limit(self.limit):
                for problem in check.run(self.context, mode):
                    by_mode = problems[problem.code or check.codes[0]]
                    by_place = by_mode.setdefault(mode.name, {})
                    if len(by_place) < _MOST:
                        by_place.setdefault(problem.place or problem.did, problem)
        except TimeLimitExceeded:
            codes = _join([*check.codes])
            self._report_overrun(f"the check {codes} in mode {mode.name}")
        except DoesNotApply:
            return
        except CallFailed as failure:
            self._remember(failure.did, failure.error, check)
        except Exception as error:
            self._remember("an attribute or a result was used", error, check)

    def _remember(self, did: str, error: BaseException, check: Check) -> None:
        cause = error.__cause__
        trace = "".join(traceback.format_exception(cause)) if cause else ""
        entry = did, trace, list[str]()
        codes = self._raised.setdefault(describe_error(error), entry)[2]
        codes += [code for code in check.codes if code not in codes]

    def _report_overrun(self, what: str) -> None:
        self._is_stopped = True
        problem = Problem(
            what,
            f"it was still running after {self.limit} s, and the checker stopped here",
            "calls that return; raise `call_limit` or lower `steps` if it is only slow",
        )
        self.findings.append(Finding("call-limit", (problem,)))


def _join(codes: list[str]) -> str:
    others = len(codes) - _MAX_CODES
    more = f" and {others} more checks" if others > 0 else ""
    return ", ".join(f"[{code}]" for code in codes[:_MAX_CODES]) + more
