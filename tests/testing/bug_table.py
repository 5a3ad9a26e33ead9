"""Tables of broken environments, and the codes that the checker reports."""

from __future__ import annotations

import itertools

from roll_vec.testing import ConformanceError, check_vector_env

# Episodes of Walk take at most 8.
STEPS = 12

# Numbers that never repeat, not even by chance.
ENTROPY = itertools.count()


def codes(subject, *, steps=STEPS, call_limit=30.0, **kwargs):
    """Check an environment; return the codes of all findings."""
    try:
        check_vector_env(subject, steps=steps, call_limit=call_limit, **kwargs)
    except ConformanceError as error:
        return {finding.slug for finding in error.findings}
    return set()


def bug_table():
    """Return a table of broken environments and a decorator that fills it.

    The table maps a class or factory with one bug to the codes of all its findings:
    first the code of the bug itself, then those that follow from it.
    """
    bugs = {}

    def breaks(*slugs):
        def register(broken):
            bugs[broken] = slugs
            return broken

        return register

    return bugs, breaks
