"""Compare, show, split and overwrite the results of a vector environment."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

_MAX_CHARACTERS = 160
_MAX_ENTRIES = 12
_BY_IDENTITY: Any = object.__eq__


class _Unknown:
    """The type of a value that is not known; it equals every other value."""

    def __repr__(self) -> str:
        return "(not given)"


UNKNOWN: Any = _Unknown()

# ---------------------------------------------------------------- parts of a value


def parts_of(value: Any, at: str = "") -> dict[str, Any]:
    """Return the direct parts of a container or space by their places, or none.

    Parameters
    ----------
    value : object
    at : str
        The place of the value.  Without one the keys of a dict are names.
    """
    if isinstance(value, (spaces.Dict, spaces.Tuple)):
        value = value.spaces
    if isinstance(value, dict):
        return {
            f"{at}[{key!r}]" if at else str(key): part for key, part in value.items()
        }
    if isinstance(value, (tuple, list)):
        return {f"{at}[{position}]": part for position, part in enumerate(value)}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {f"{at}{[*index]}": value[index] for index in np.ndindex(value.shape)}
    return {}


def walk(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the places and values of everything within `value`, itself first."""
    yield at, value
    for place, part in parts_of(value, at).items():
        yield from walk(part, place)


def observation_of(single_space: spaces.Space[Any], observations: Any, env: int) -> Any:
    """Return the observation of environment `env` in a batch.

    `gymnasium.vector.utils.iterate` does the same for well-formed batches; this
    function also accepts a batch whose containers have the wrong type.
    """
    if isinstance(single_space, spaces.Dict):
        return {
            key: observation_of(subspace, observations[key], env)
            for key, subspace in single_space.spaces.items()
        }
    if isinstance(single_space, spaces.Tuple):
        return tuple(
            observation_of(subspace, observations[position], env)
            for position, subspace in enumerate(single_space.spaces)
        )
    return observations[env]


def batch(single_space: spaces.Space[Any], items: list[Any]) -> Any:
    """Return samples of a single space as one sample of the batched space."""
    empty: Any = create_empty_array(single_space, len(items))
    return concatenate(single_space, items, empty)


def data_keys(infos: dict[Any, Any]) -> list[Any]:
    """List the keys of `infos` without the masks of other keys."""
    # A key need not be a str: the mask of 1 is "_1".
    masks = {f"_{key}" for key in infos}
    return [key for key in infos if key not in masks]


def mask_of(infos: dict[str, Any], key: str, num_envs: int) -> NDArray[np.bool_]:
    """Return the mask of `key`; all True where there is no usable mask."""
    mask = infos.get(f"_{key}")
    if isinstance(mask, np.ndarray) and mask.shape == (num_envs,):
        return mask.astype(bool)
    return np.ones(num_envs, dtype=np.bool_)


def info_of(
    infos: dict[str, Any],
    env: int,
    num_envs: int,
    without: Set[tuple[str, ...]] = frozenset(),
    at: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the info dict of environment `env` in batched infos.

    Parameters
    ----------
    infos : dict
    env, num_envs : int
    without : set of tuple of str
        Paths of keys to leave out.
    at : tuple of str
        The path of `infos` itself.
    """
    info: dict[str, Any] = {}
    for key in data_keys(infos):
        path = (*at, key)
        if path in without or not mask_of(infos, key, num_envs)[env]:
            continue
        value = infos[key]
        if isinstance(value, dict):
            info[key] = info_of(value, env, num_envs, without, path)
        else:
            try:
                info[key] = value[env]
            except (IndexError, KeyError, TypeError):
                info[key] = value  # not batched: another check reports it
    return info


# ---------------------------------------------------------------------- comparison


def kind_of(value: Any) -> str:
    """Return the type, the size or shape, and the dtype of a value in words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    if isinstance(value, dict):
        return f"a dict with the keys {', '.join(sorted(map(repr, value)))}"
    if isinstance(value, (tuple, list)):
        name = "tuple" if isinstance(value, tuple) else "list"
        return f"a {name} of {len(value)}"
    return "a str" if isinstance(value, str) else f"a {type(value).__name__}"


def form_of(space: spaces.Space[Any]) -> Any:
    """Return a value of the kind that elements of a space are, for `mismatches`."""
    if isinstance(space, spaces.Dict):
        return {key: form_of(subspace) for key, subspace in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(map(form_of, space.spaces))
    if isinstance(space, spaces.Text):
        return ""
    if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
        return np.empty(space.shape, space.dtype)
    return UNKNOWN


def mismatches(form: Any, value: Any, at: str) -> Iterator[tuple[str, str, str]]:
    """Yield the parts of `value` that are of another kind than those of `form`.

    `Space.contains` is no substitute: it accepts everything that can be cast.

    Yields
    ------
    tuple of str
        The place, the value there, and the kind that should be there.
    """
    if form is UNKNOWN:
        return
    if kind_of(value) != kind_of(form):
        is_array = isinstance(value, np.ndarray)
        yield at, kind_of(value) if is_array else show(value), kind_of(form)
        return
    parts = parts_of(value, at)
    for place, part in parts_of(form, at).items():
        yield from mismatches(part, parts[place], place)


def difference(left: Any, right: Any, at: str = "") -> str | None:
    """Describe the first difference of two nested values, or return None.

    NaN equals NaN; arrays must agree in dtype and shape, scalars only in value.
    """
    if left is UNKNOWN or right is UNKNOWN:
        return None
    prefix = f"{at}: " if at else ""
    containers = np.ndarray, tuple, list
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            only_left = [key for key in left if key not in right]
            only_right = [key for key in right if key not in left]
            return f"{prefix}keys {only_left} against keys {only_right}"
        right = {key: right[key] for key in left}
    elif isinstance(left, containers) and isinstance(right, containers):
        if (
            isinstance(left, np.ndarray)
            and isinstance(right, np.ndarray)
            and left.dtype == right.dtype != object
            and left.shape == right.shape
        ):
            return _array_difference(left, right, at)
        kinds = kind_of(left), kind_of(right)
        if kinds[0] != kinds[1]:
            return f"{prefix}{kinds[0]} against {kinds[1]}"
    elif not _scalars_equal(left, right):
        return f"{prefix}{show(left)} against {show(right)}"
    pairs = zip(parts_of(left, at).items(), parts_of(right).values(), strict=True)
    differences = (difference(one, other, place) for (place, one), other in pairs)
    return next(filter(None, differences), None)


def _array_difference(left: NDArray[Any], right: NDArray[Any], at: str) -> str | None:
    # Bytes first: most calls are equal, and this is several times faster.
    if np.array_equal(left, right):
        return None
    unequal = left != right
    if left.dtype.kind in "fc":
        unequal &= ~(np.isnan(left) & np.isnan(right))
    places = np.argwhere(unequal)
    if len(places) == 0:
        return None
    first = tuple(places[0])
    where = f"{at}{[int(part) for part in first]}"
    more = f" ({len(places)} of {left.size} entries differ)" if left.size > 1 else ""
    return f"{where}: {show(left[first])} against {show(right[first])}{more}"


def _scalars_equal(left: Any, right: Any) -> bool:
    try:
        if bool(left == right) or bool(left != left and right != right):
            return True
    except Exception:
        return repr(left) == repr(right)
    # Objects of a class without __eq__ are equal only to themselves: compare their
    # attributes instead.
    if type(left) is not type(right) or type(left).__eq__ is not _BY_IDENTITY:
        return False
    return not difference(getattr(left, "__dict__", {}), getattr(right, "__dict__", {}))


# -------------------------------------------------------------- show and overwrite


def show(value: Any) -> str:
    """Return `value` as one short line."""
    value = value.item() if isinstance(value, np.generic) else value
    with np.printoptions(threshold=_MAX_ENTRIES, edgeitems=2):
        text = " ".join(repr(value).split())
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"


def overwrite(value: Any) -> None:
    """Overwrite everything in `value` that can be written to."""
    for _, part in reversed([*walk(value)]):
        if isinstance(part, (dict, list)):
            part.clear()
        if not isinstance(part, np.ndarray) or not part.flags.writeable:
            continue
        kind = part.dtype.kind
        if kind in "biu":
            np.invert(part, out=part)
        elif kind in "fc":
            part[...] = np.nan
        elif kind in "USO":
            part[...] = "overwritten by the caller"
