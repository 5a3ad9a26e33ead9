"""Games of text with levels: their infos of resets and their states."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from roll_vec.errors import InvalidOptionError, InvalidStateError
from roll_vec.objects.base_envs import BaseLanguageBasedEnv
from roll_vec.options import changed_keywords

__all__ = ["TextLevelEnv"]


def _share(options: Any) -> Any:
    """Return one object for equal options, for all environments of a batch."""
    cls: Any = type(options)
    names = changed_keywords(options, cls.__dataclass_fields__)
    return _make_options(cls, tuple((name, getattr(options, name)) for name in names))


@functools.lru_cache(maxsize=32)
def _make_options(cls: Any, changes: tuple[tuple[str, Any], ...]) -> Any:
    # Options as keys of the cache would be compared field by field.
    return cls(**dict(changes))


class TextLevelEnv(BaseLanguageBasedEnv):
    """A game of text that plays a level in each episode.

    Parameters
    ----------
    options : frozen dataclass
        With ``seed_info``, ``level_info``, ``oracle_return_info``, ``advantage_info``.

    Attributes
    ----------
    STATE : mapping, of the class
        The keys of a state, besides ``stream``, each with its check: a function of name
        and value, and its further arguments.
    options
        The validated keywords.

    Infos
    -----
    oracle_return : float64; reset; oracle_return_info=True
        The return of a best solution.
    advantage : float64; step; advantage_info=True
        What the action has changed in the exact value, in the game's unit (see
        docs/solvers.md): 0 for a best one, else below 0; -100 for a dead end in moves.
    """

    STATE: ClassVar[Mapping[str, tuple[Any, ...]]]
    state_has_stream = True

    def __init__(self, options: Any) -> None:
        super().__init__()
        self.options = _share(options)

    def _describe_level(
        self, level: int, oracle_return: Callable[[], float]
    ) -> dict[str, Any]:
        """Return the infos ``seed``, ``level`` and ``oracle_return``, if asked for.

        Parameters
        ----------
        level : int
            Number of the level that begins.
        oracle_return : callable
            Returns the return of a best play of it.
        """
        info: dict[str, Any] = {}
        if self.options.seed_info:
            info["seed"] = self.level_seed
        if self.options.level_info:
            info["level"] = level
        if self.options.oracle_return_info:
            info["oracle_return"] = oracle_return()
        return info

    # ---------------------------------------------------------------- states

    def get_state(self) -> dict[str, Any]:
        """Return everything that later steps and resets depend on."""
        return {"stream": self.get_stream(), **self._get_values()}

    @abstractmethod
    def _get_values(self) -> dict[str, Any]:
        """Return the values of `STATE`."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go back to what `get_state` returned.

        Raises
        ------
        InvalidStateError
            If it is no state of an environment with these keywords; nothing has changed
            then.
        ClosedError
        """
        self._check_open()
        values = self._read_state(state)
        self.set_stream(state["stream"])
        self._load_values(values)

    def _read_state(self, state: Any) -> Any:
        """Return the checked values of `STATE`."""
        names = {"stream", *self.STATE}
        if not isinstance(state, Mapping) or not state.keys() >= names:
            value = list(state) if isinstance(state, Mapping) else state
            accepted = f"a dict with {sorted(names)}"
            raise InvalidStateError.expected("state", accepted, value)
        try:
            values = {
                name: check(name, state[name], *arguments)
                for name, (check, *arguments) in self.STATE.items()
            }
            self._check_values(values)
            return values
        except InvalidOptionError as error:
            message = f"state: {str(error).removeprefix('state: ')}"
            raise InvalidStateError(message) from None

    @abstractmethod
    def _check_values(self, values: dict[str, Any]) -> None:
        """Check what couples the values of a state; may replace some.

        Raises
        ------
        InvalidOptionError
        """

    @abstractmethod
    def _load_values(self, values: dict[str, Any]) -> None:
        """Set checked values."""
