"""The bugs that `make test-mutants` plants."""

from typing import NamedTuple

__all__ = ["BUGS", "Bug"]


class Bug(NamedTuple):
    """A change of one place of the code that a test must notice.

    Attributes
    ----------
    name : str
    path : str
        The file, from the root of the checkout.
    text, replacement : str
        The text stands in the file exactly once.
    tests : tuple of str
        Arguments of pytest: the tests that are tried first.
    """

    name: str
    path: str
    text: str
    replacement: str
    tests: tuple[str, ...]


BUGS: list[Bug] = []
