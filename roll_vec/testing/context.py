"""What every check is given: the environment under test and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.testing.findings import (
    CallFailed,
    DoesNotApply,
    describe_error,
    skip,
)
from roll_vec.testing.histories import Transition, histories
from roll_vec.testing.maker import Maker
from roll_vec.testing.player import ActionPlan, Player, Probe
from roll_vec.testing.time_limit import TimeLimitExceeded, time_limit

__all__ = ["NUM_ENVS", "Attempt", "Context"]

# Three: one in the middle has neighbours on both sides.
NUM_ENVS = 3

_CLOSING_SECONDS = 10.0


@dataclass(frozen=True)
class Attempt:
    """What came of making an instance.

    Parameters
    ----------
    written : str
        The call.
    error : Exception or None
        What it raised.
    env_type : type or None
        What it returned.
    declared : object
        The autoreset mode in its metadata.
    """

    written: str
    error: Exception | None = None
    env_type: type | None = None
    declared: object = None

    @property
    def made(self) -> bool:
        """Whether it returned a vector environment."""
        return self.env_type is not None and issubclass(self.env_type, VectorEnv)

    @property
    def outcome(self) -> str:
        """What it raised or returned, in words."""
        if self.error is not None:
            return describe_error(self.error)
        return f"a {self.env_type.__qualname__}" if self.env_type else "nothing"


class Context:
    """The environment under test, and what the checks share.

    Parameters
    ----------
    maker : Maker
        Makes instances.
    seed : int
        The first seed.
    steps : int
        How many steps the long runs take.
    """

    def __init__(self, maker: Maker, seed: int, steps: int) -> None:
        self.maker, self.seed, self.steps = maker, seed, steps
        self.default: Attempt | None = None
        self.attempts: dict[AutoresetMode, Attempt] = {}
        self.takes_keyword = False
        self.modes: tuple[AutoresetMode, ...] = ()
        # Info keys whose values another check found to be damaged.
        self.tainted: frozenset[tuple[str, ...]] = frozenset()
        self.lacks: set[str] = set()
        self.failed_closings: dict[str, str] = {}
        # The texts of warnings with a traceback in them.
        self.tracebacks: list[str] = []
        self._spaces: tuple[spaces.Space[Any], spaces.Space[Any]] | None = None
        self._plan: ActionPlan | None = None
        self._kept: dict[Any, Any] = {}

    def explore(self) -> None:
        """Find out how instances are made and which autoreset modes there are."""
        if self.maker.is_id:
            self.default = self._attempt()
        for mode in AutoresetMode:
            self.attempts[mode] = self._attempt(autoreset_mode=mode)
        # One that says it is in another mode is not checked as if it were in this one.
        self.modes = tuple(
            mode
            for mode, attempt in self.attempts.items()
            if attempt.made
            and (
                attempt.declared is mode
                or not isinstance(attempt.declared, AutoresetMode)
            )
        )
        self.takes_keyword = bool(self.modes)
        if self.takes_keyword:
            return
        if self.default is None:
            self.default = self._attempt()
        declared = self.default.declared
        if isinstance(declared, AutoresetMode):
            self.modes = (declared,)
        elif self.default.made:
            self.modes = (AutoresetMode.NEXT_STEP,)

    def tried(self) -> list[Attempt]:
        """Return all attempts of `explore`."""
        first = [] if self.default is None else [self.default]
        return [*first, *self.attempts.values()]

    def _attempt(self, **kwargs: Any) -> Attempt:
        written = self.maker.written(NUM_ENVS, **kwargs)
        try:
            env = self.maker.make(NUM_ENVS, **kwargs)
        except Exception as error:
            return Attempt(written, error)
        try:
            if not isinstance(env, VectorEnv):
                return Attempt(written, env_type=type(env))
            if not kwargs:
                self.maker.learn_from(env)
            declared = env.metadata.get("autoreset_mode")
            return Attempt(written, env_type=type(env), declared=declared)
        except Exception as error:
            return Attempt(written, error)
        finally:
            self._shut(env, written)

    @contextmanager
    def open(
        self, mode: AutoresetMode | None, num_envs: int = NUM_ENVS, **kwargs: Any
    ) -> Iterator[Probe]:
        """Make an instance and close it at the end.

        Parameters
        ----------
        mode : AutoresetMode or None
            One of `modes`.
        num_envs : int
            How many environments.
        **kwargs
            More arguments, of which there is only render_mode.
        """
        if mode is not None and self.takes_keyword:
            kwargs["autoreset_mode"] = mode
        written = self.maker.written(num_envs, **kwargs)
        try:
            env = self.maker.make(num_envs, **kwargs)
        except Exception as error:
            raise CallFailed(written, error) from error
        try:
            yield Probe(env, written, num_envs)
        finally:
            self._shut(env, written)

    def _shut(self, env: Any, written: str) -> None:
        if not hasattr(env, "close"):
            return
        try:
            with time_limit(_CLOSING_SECONDS):
                env.close()
        except Exception as error:
            self.failed_closings.setdefault(describe_error(error), written)
        except TimeLimitExceeded:
            # Of no use but to those that take the argument, as AsyncVectorEnv does,
            # whose workers would outlive the check.
            try:
                with time_limit(_CLOSING_SECONDS):
                    env.close(terminate=True)
            except (Exception, TimeLimitExceeded):
                pass
            raise

    def needs(self, slug: str) -> None:
        """Leave the check when an earlier one found something it rests on missing."""
        if slug in self.lacks:
            skip(f"it rests on what [{slug}] asks for")

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` returned, or raise what it raised, the first time."""
        if key not in self._kept:
            try:
                self._kept[key] = (make(), None)
            except (CallFailed, DoesNotApply) as error:
                self._kept[key] = (None, error)
        value, raised = self._kept[key]
        if raised is not None:
            raise raised
        return value

    def _learn_spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        if self._spaces is None:
            with self.open(self.modes[0]) as probe:
                env = probe.env
                self._spaces = (env.single_observation_space, env.single_action_space)
        return self._spaces

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """The observation space of a single environment."""
        return self._learn_spaces()[0]

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The action space of a single environment."""
        return self._learn_spaces()[1]

    @property
    def plan(self) -> ActionPlan:
        """The actions of every environment."""
        if self._plan is None:
            self._plan = ActionPlan(self.action_space, self.seed)
        return self._plan

    @contextmanager
    def player(
        self, mode: AutoresetMode, streams: Sequence[int] | None = None, **kwargs: Any
    ) -> Iterator[Player]:
        """Make an instance and a player of it, which has not reset it yet.

        Parameters
        ----------
        mode : AutoresetMode
            One of `modes`.
        streams : sequence of int, optional
            The streams of actions; as many environments as there are streams.
        **kwargs
            Passed to Player.
        """
        chosen = list(range(NUM_ENVS) if streams is None else streams)
        with self.open(mode, len(chosen)) as probe:
            yield Player(probe, mode, self.plan, chosen, **kwargs)

    def played(self, mode: AutoresetMode) -> Player:
        """Return the player of the long run in `mode`, which all checks share."""

        def play() -> Player:
            with self.player(mode) as player:
                player.reset(seed=self.seed)
                return player.run(self.steps)

        player: Player = self.once(("played", mode), play)
        return player

    def histories(self, player: Player) -> list[list[Transition]]:
        """Return the history of each environment of `player`."""
        return histories(player, self.observation_space)

    def ended(self) -> bool:
        """Whether any episode ended in the long runs that could be made."""
        return any(
            call.done.any()
            for key, (player, _) in self._kept.items()
            if key[0] == "played" and player is not None
            for call in player.calls
        )
