"""What the tests of the checker have in common."""

from __future__ import annotations

import itertools

from roll_vec.testing import ConformanceError, check_vector_env

# Episodes of Walk take at most 8.
STEPS = 12

# Never the same again, and never by chance.
ENTROPY = itertools.count()


def codes(subject, *, steps=STEPS, call_limit=30.0, **kwargs):
    """Return the codes of all findings."""
    try:
        check_vector_env(subject, steps=steps, call_limit=call_limit, **kwargs)
    except ConformanceError as error:
        return {finding.slug for finding in error.findings}
    return set()


def table():
    """Return a table of broken environments and a decorator that fills it.

    It maps a broken class or factory to the codes of all its findings: the first is the
    bug's own, the others follow from it.
    """
    bugs = {}

    def finds(*slugs):
        def register(broken):
            bugs[broken] = slugs
            return broken

        return register

    return bugs, finds
