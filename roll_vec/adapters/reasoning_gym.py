"""Data sets of reasoning-gym (github.com/open-thought/reasoning-gym) in pools.

Written for reasoning-gym 0.1.25::

    envs = roll_vec.adapters.reasoning_gym.make_vec("leg_counting", num_envs=64)

An episode is one entry: the observation is its question, the action the answer, the
reward the data set's own score.  The number of the entry is the seed of the episode
modulo the size: environment i of ``reset(seed=0)`` has entry i.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import threading
import types
from typing import Any

from roll_vec import registration
from roll_vec.adapters.own_generators import OwnGenerators, isolate
from roll_vec.errors import InvalidOptionError, InvalidStateError, ResetNeededError
from roll_vec.objects.base_envs import BaseLanguageBasedEnv
from roll_vec.options import check_int
from roll_vec.pool import PoolVectorEnv
from roll_vec.registration import factories

__all__ = ["ReasoningGym", "make_vec", "register"]

# Functions that run the text of an answer as Python code.
_RUN_CODE = {"exec", "parse_expr", "sympify"}
_own_datasets = threading.local()


class ReasoningGym(BaseLanguageBasedEnv):
    """The entries of a data set as environments of one turn.

    Entries that draw from global generators get generators of their own, which begin
    with the number of the entry.  Where a score calls `eval` on an answer,
    `ast.literal_eval` takes its place: it reads lists and numbers, and runs nothing.

    Parameters
    ----------
    dataset : str
        Its name in reasoning-gym.
    allow_code : bool
        True: also data sets whose score runs the answer as Python code, by sympy's
        `parse_expr`, are accepted.  An answer can then do anything that this process
        can.
    **config
        The data set's own, such as ``seed``, here by default 0, and ``size``.

    Attributes
    ----------
    dataset : reasoning_gym.dataset.ProceduralDataset
        Environments of one worker share it.
    entry : dict or None
        The present one, with ``question``, ``answer`` and ``metadata``.

    Raises
    ------
    InvalidOptionError
        For an unknown data set or config; for ``composite``, whose parts
        `roll_vec.JoinedVectorEnv` joins; for a data set that runs answers as code.
    ImportError
        Without reasoning-gym.
    """

    def __init__(
        self, dataset: str, *, allow_code: bool = False, **config: Any
    ) -> None:
        super().__init__()
        if "size" in config:
            # Not all data sets check it.
            check_int("size", config["size"], 1)
        self.dataset = _make_dataset(dataset, {"seed": 0, **config})
        code_names = _code_names(self.dataset)
        if code_names and not allow_code:
            message = (
                f"dataset: the score of {dataset} runs answers as Python code "
                f"({', '.join(code_names)}): pass allow_code=True if you trust them"
            )
            raise InvalidOptionError(message)
        self._generators = OwnGenerators(0)
        self.entry: dict[str, Any] | None = None
        self._index = -1
        self._is_playing = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin the next episode; ``info["entry"]`` is the number of its entry."""
        super().reset(seed=seed, options=options)
        assert self.level_seed is not None
        self._is_playing = False
        self._load(self.level_seed % len(self.dataset))
        self._is_playing = True
        return self._question, {"entry": self._index}

    def _load(self, index: int) -> None:
        self._generators.seed(index)
        with self._generators.active():
            self.entry = self.dataset[index]
        self._index = index

    @property
    def _question(self) -> str:
        return "" if self.entry is None else str(self.entry["question"])

    @property
    def oracle_action(self) -> str | None:
        """The answer of the entry; None where the data set has none, or it is over."""
        answer = self.entry and self._is_playing and self.entry["answer"]
        return str(answer) if isinstance(answer, (str, int, float)) and answer else None

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Score an answer and end the episode.

        Returns
        -------
        observation, reward, terminated, truncated, info
            The question; the score, from 0 to 1; True; False; ``success``: whether the
            score is 1.

        Raises
        ------
        ResetNeededError
            Before a reset and after an end.
        """
        self._check_open()
        if not self._is_playing:
            message = "reset the environment before the first step and after an end"
            raise ResetNeededError(message)
        with self._generators.active():
            score = _score(self.dataset, action, self.entry)
        self._is_playing = False
        return self._question, score, True, False, {"success": score >= 1.0}

    def get_state(self) -> dict[str, Any]:
        """Return the number of the entry, -1 before a reset, and whether it is over."""
        return {"entry": self._index, "is_playing": self._is_playing}

    def check_state(self, state: dict[str, Any]) -> None:
        """Check a state.

        Raises
        ------
        InvalidStateError
        """
        index = state.get("entry")
        if type(index) is not int or not -1 <= index < len(self.dataset):
            accepted = f"an int from -1 to {len(self.dataset) - 1}"
            raise InvalidStateError.expected("state: entry", accepted, index)
        if type(state.get("is_playing")) is not bool:
            name = "state: is_playing"
            raise InvalidStateError.expected(name, "a bool", state.get("is_playing"))

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state; the entry is generated again."""
        self.check_state(state)
        self.entry, self._index = None, -1
        if state["entry"] >= 0:
            self._load(state["entry"])
        self._is_playing = state["is_playing"]


def _make_dataset(name: str, config: dict[str, Any]) -> Any:
    """Return a data set that environments of this thread share.

    A data set keeps no entry, but some keep a generator while they make one.
    """
    factory = importlib.import_module("reasoning_gym").factory
    if name not in factory.DATASETS or name == "composite":
        accepted = f"one of {', '.join(sorted(factory.DATASETS))}, not composite"
        raise InvalidOptionError.expected("dataset", accepted, name)
    package = importlib.import_module(
        factory.DATASETS[name][0].__module__.rpartition(".")[0]
    )
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        # Some are imported only when the first entry is drawn.
        importlib.import_module(f"{package.__name__}.{module.name}")
    isolate("reasoning_gym")
    key = name, repr(sorted(config.items()))
    datasets = _own_datasets.__dict__.setdefault("by_key", {})
    if key not in datasets:
        try:
            with OwnGenerators(0).active():
                datasets[key] = factory.create_dataset(name, **config)
        except (TypeError, AssertionError, ValueError) as error:
            message = f"config of {name}: {error}"
            raise InvalidOptionError(message) from error
    return datasets[key]


def _code_names(dataset: Any) -> list[str]:
    """Return the functions by which the score of a data set runs answers as code."""
    function = dataset.score_answer.__func__
    names = []
    for name in sorted(_RUN_CODE & set(function.__code__.co_names)):
        # Some data sets have a harmless parser of their own under such a name.
        module = getattr(function.__globals__.get(name), "__module__", None) or ""
        if not module.startswith("reasoning_gym"):
            names.append(name)
    return names


def _score(dataset: Any, answer: str, entry: Any) -> float:
    """Return the score of an answer, by `ast.literal_eval` in place of `eval`."""
    function = dataset.score_answer.__func__
    own = types.FunctionType(
        function.__code__,
        {**function.__globals__, "eval": ast.literal_eval},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    own.__kwdefaults__ = function.__kwdefaults__
    return float(own(dataset, answer=answer, entry=entry))


def _id_of(dataset: Any) -> str:
    if not isinstance(dataset, str):
        accepted = "a str, the name of one data set; JoinedVectorEnv joins several"
        raise InvalidOptionError.expected("dataset", accepted, dataset)
    return f"reasoning_gym/{dataset}"


def register(dataset: str, **config: Any) -> str:
    """Register a data set with roll_vec; return its id, ``reasoning_gym/<dataset>``.

    Parameters
    ----------
    dataset, **config
        Those of `ReasoningGym`.
    """
    id = _id_of(dataset)
    registration.register(id, ReasoningGym, dataset=dataset, **config)
    return id


def make_vec(dataset: str, num_envs: int = 1, **keywords: Any) -> PoolVectorEnv:
    """Return a pool of the entries of a data set.

    Parameters
    ----------
    dataset : str
    num_envs : int
    **keywords
        Those of `ReasoningGym`, and those of pools and texts as for
        `roll_vec.make_vec`.
    """
    id = _id_of(dataset)
    if id not in registration.ENVIRONMENTS:
        register(dataset)
    envs = factories.make_vec(id, num_envs, **keywords)
    assert isinstance(envs, PoolVectorEnv)
    return envs
