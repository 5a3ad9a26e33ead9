"""ROLL's `SokobanEnv`: a config object, text to observe, ROLL's names.

Names and defaults are those of ROLL's custom environment guide.  Rules, levels and
rewards are those of the single environment that the class extends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from roll_vec.adapters.roll.configs import GridConfig, make_config
from roll_vec.adapters.roll.grid_env import MAX_STEPS, RollGridEnv
from roll_vec.envs.sokoban import Sokoban, SokobanOptions
from roll_vec.options import takes_keywords_of


@dataclass
class SokobanEnvConfig(GridConfig):
    """ROLL's configuration of Sokoban; the fields are those of `SokobanOptions`.

    ``render_mode`` is ``text`` or ``rgb_array``; observations have the same form.
    ``levels`` are played in place of generated rooms; ``dim_room`` becomes their size.
    """

    OPTIONS: ClassVar[type[Any]] = SokobanOptions
    TAKEN: ClassVar[tuple[str, ...]] = ("dim_room", "levels")

    dim_room: tuple[int, int] = SokobanOptions.dim_room
    max_steps: int = MAX_STEPS
    num_boxes: int = SokobanOptions.num_boxes
    search_depth: int = SokobanOptions.search_depth
    num_gen_steps: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    dim_x: int | None = None
    dim_y: int | None = None
    render_mode: str = "text"
    levels: Any = None


class SokobanEnv(RollGridEnv, Sokoban):
    """Sokoban for users of ROLL: ``SokobanEnv(config)``.

    Parameters
    ----------
    config : SokobanEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    @takes_keywords_of(SokobanEnvConfig)
    def __init__(
        self,
        config: SokobanEnvConfig | Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        config = make_config(SokobanEnvConfig, config, _with_size(keywords))
        Sokoban.__init__(self, **config.batch_keywords())
        self._set_config(config)


def _with_size(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Add keywords that reset the other forms of the room's size in a config.

    ``dim_x`` and ``dim_y`` replace a config's ``dim_room``, and the other way round;
    ``levels`` have a size of their own.
    """
    others: dict[str, Any] = {}
    if keywords.get("levels") is not None:
        others = {"dim_x": None, "dim_y": None, "dim_room": SokobanEnvConfig.dim_room}
    elif "dim_room" in keywords:
        others = {"dim_x": None, "dim_y": None}
    elif {"dim_x", "dim_y"} & keywords.keys():
        others = {"dim_room": SokobanEnvConfig.dim_room}
    return {**others, **keywords}
