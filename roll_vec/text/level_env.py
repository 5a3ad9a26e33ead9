"""Games of text with levels: their infos of resets, level options and states."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from roll_vec.errors import InvalidOptionError, InvalidStateError, UnknownOptionError
from roll_vec.objects.base_envs import BaseLanguageBasedEnv, check_stream
from roll_vec.options import (
    changed_keywords,
    check_level_option_names,
    replace_level_options,
)

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
        With ``LEVEL_OPTIONS``, ``seed_info``, ``level_info``, ``oracle_return_info``.

    Attributes
    ----------
    STATE : mapping, of the class
        The keys of a state, besides ``stream`` and ``level_options``, each with its
        check: a function of name and value, and its further arguments.
    options
        The validated keywords, with the present level options.

    Infos
    -----
    oracle_return : float64; reset; oracle_return_info=True
        The return of a best solution.
    """

    STATE: ClassVar[Mapping[str, tuple[Any, ...]]]
    state_has_stream = True

    def __init__(self, options: Any) -> None:
        super().__init__()
        self.options = self._first_options = _share(options)
        # The changes of `set_level_options`.
        self._level_options: dict[str, Any] = {}

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

    # --------------------------------------------------------- level options

    def check_level_options(self, **level_options: Any) -> None:
        """Raise the errors of `set_level_options`; nothing changes."""
        self._check_open()
        check_level_option_names(self.options, level_options)
        self._options_with({**self._level_options, **level_options})

    def set_level_options(self, **level_options: Any) -> None:
        """Change the levels of the next episodes; the present one goes on.

        Parameters
        ----------
        **level_options
            Keywords among ``LEVEL_OPTIONS`` of the options.

        Raises
        ------
        UnknownOptionError
            For another name; lists those that are accepted.
        InvalidOptionError
            For a value that cannot be used, and for no name at all.
        ClosedError
        """
        self._check_open()
        check_level_option_names(self.options, level_options)
        self._change_options({**self._level_options, **level_options})

    def _options_with(self, changes: Mapping[str, Any]) -> Any:
        """Return checked options with some changes of the levels."""
        options = replace_level_options(self._first_options, changes)
        self._check_options(options, changes)
        return options

    def _change_options(self, changes: Mapping[str, Any]) -> None:
        options = self._options_with(changes)
        self._use_options(options)
        self._level_options = {name: getattr(options, name) for name in changes}

    @abstractmethod
    def _check_options(self, options: Any, changes: Mapping[str, Any]) -> None:
        """Check that this environment can have options with some changes.

        Raises
        ------
        InvalidOptionError
        """

    @abstractmethod
    def _use_options(self, options: Any) -> None:
        """Take over checked options for the next episodes."""

    # ---------------------------------------------------------------- states

    def get_state(self) -> dict[str, Any]:
        """Return everything that later steps and resets depend on."""
        return {
            "stream": self.get_stream(),
            **self._get_values(),
            "level_options": dict(self._level_options),
        }

    @abstractmethod
    def _get_values(self) -> dict[str, Any]:
        """Return the values of `STATE`."""

    def check_state(self, state: Any) -> None:
        """Raise the errors of `set_state`; nothing changes."""
        self._check_open()
        self._read_state(state)
        check_stream(state["stream"])

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
        changes = state["level_options"]
        if changes != self._level_options:
            self._change_options(changes)
        self._load_values(values)

    def _read_state(self, state: Any) -> Any:
        """Return the checked values of `STATE`."""
        names = {"stream", "level_options", *self.STATE}
        if not isinstance(state, Mapping) or not state.keys() >= names:
            value = list(state) if isinstance(state, Mapping) else state
            accepted = f"a dict with {sorted(names)}"
            raise InvalidStateError.expected("state", accepted, value)
        changes = state["level_options"]
        if not isinstance(changes, Mapping):
            raise InvalidStateError.of_array("level_options", "a dict", changes)
        try:
            if changes != self._level_options:
                self._options_with(changes)
            values = {
                name: check(name, state[name], *arguments)
                for name, (check, *arguments) in self.STATE.items()
            }
            self._check_values(values)
            return values
        except (InvalidOptionError, UnknownOptionError) as error:
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
        """Take over checked values."""
