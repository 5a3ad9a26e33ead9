"""Sokoban whose observations are the messages of a chat: ROLL's native mode, its tool.

Texts, keys and defaults are those of ``native_env.py`` and ``tool_call_env.py`` in
``roll/pipeline/agentic/env/sokoban`` (commit 8eb27cc2).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from roll_vec.adapters.roll.grids import SOKOBAN_RULES, GemSokobanEnv, GridOptions
from roll_vec.errors import InvalidActionError
from roll_vec.kernels.sokoban.moves import BOX, BOX_ON_TARGET
from roll_vec.options import accepts_keywords_of, check_choice
from roll_vec.recordings.readers.roll import FACTS
from roll_vec.text.validation import check_text
from roll_vec.trajectories import to_json

Step = tuple[list[dict[str, Any]], float, bool, bool, dict[str, Any]]

_SYSTEM = (
    "You're a helpful assistant. You are a good game player. You are aiming to get "
    "high reward in the game."
)
_FORMAT = (
    "\n\n<system-reminder>\nIMPORTANT: Ensure that your response is the format of "
    "'<answer> [your answer] </answer>',  with no extra text, eg. <answer>Right"
    "</answer>.\nYour available actions are:\n{actions}\n. </system-reminder>\n\n"
    "Decide the next action:\n"
)
REMINDER = (
    "\n\n<system-reminder>\n(IMPORTANT TIPS: the last action is not valid, your new "
    "response *must* strictly adhere to the format according system-reminder.)"
    "</system-reminder>\n\n"
)
"""Before the state after an answer that is no action; ROLL never shows it."""

# Of ROLL's enum `EpisodeStopReason`: the members that its classes know.
_STOP_REASONS = ("MAX_LENGTH", "ENV_TIMEOUT")

DIRECTIONS = ("up", "down", "left", "right")
"""What the tool accepts; their numbers, from 1 on, are the actions."""

_TOOL = {
    "type": "function",
    "function": {
        "name": "move_player",
        "description": "Move the player in the specified direction in the Sokoban game",
        "parameters": {
            "type": "object",
            "properties": {
                "direction": {
                    "type": "string",
                    "enum": list(DIRECTIONS),
                    "description": "Direction to move: up, down, left, or right",
                }
            },
            "required": ["direction"],
        },
    },
}
_USE_THE_TOOL = (
    "\n\nIMPORTANT: Use the move_player tool to take actions. Do NOT use text-based "
    "<answer> tags. Always call the tool with a valid direction parameter."
)
_NO_CALL = (
    "\n\n<system-reminder>\nCRITICAL: You must use the move_player tool. Do not send "
    "text-based actions.\n</system-reminder>\n\n"
)
_REMOVED_CALL = (
    "\n\n<system-reminder>\nIMPORTANT: The last tool call was invalid (direction "
    "parameter must be one of up/down/left/right). That conversation round has been "
    "removed. Please retry with correct parameters.\n</system-reminder>\n\n"
)


@dataclass(frozen=True, kw_only=True)
class NativeOptions(GridOptions):
    """The keywords of ROLL's ``sokoban_native_env`` beside Sokoban's, and its defaults.

    Parameters
    ----------
    system_template : str or None
        The beginning of the system's message; None: ROLL's.
    observation_suffix : str or None
        Ends each message of the user; None: ROLL's, which names format and actions.
    render_mode : str
        Only ``text``.
    group_id, num_env_groups, mode, debug
        Accepted, without effect as in ROLL.
    **keywords
        Those of `GridOptions`.

    Raises
    ------
    InvalidOptionError
    """

    max_steps: int = 10
    format_penalty: float = -0.1
    system_template: str | None = None
    observation_suffix: str | None = None
    group_id: int = 0
    num_env_groups: int = 1
    mode: str = "train"
    debug: bool = False

    def __post_init__(self) -> None:
        check_choice("render_mode", self.render_mode, ("text",))
        super().__post_init__()


class GemSokobanNativeEnv(GemSokobanEnv):
    """ROLL's ``sokoban_native_env``: an observation is the whole chat, as messages.

    Messages and infos are ROLL's, but for what are mistakes there:

    - ROLL resets twice, and draws each room twice.  If a seed gives no room, the first
      message shows the messages of another reset in the place of the room.
    - Its reminder after an answer without an action never shows, because it looks for
      ``action_is_valid`` in the wrong place, and with the wrong sign.
    - An episode that is stopped (see `step`) earns the reward of its last answer once
      more; here it earns 0.  A stop that it does not know is an AttributeError there.
    - Its observations are one list, which later answers change; here each is a copy.

    Parameters
    ----------
    **keywords
        Those of `NativeOptions`, and those of
        `roll_vec.envs.sokoban.Sokoban` with ROLL's defaults: rooms of
        6 × 6 cells with 1 box.

    Attributes
    ----------
    message_history : list of dict
        The chat of the episode.
    task_idx, current_step : int
        Number of the episode, and of its answers, from 1 on.
    reward : float
    terminated, truncated : bool
        Of the last answer.
    stop_reason : str
        ``MAX_LENGTH`` or ``ENV_TIMEOUT`` in an episode that was stopped.
    env_timeout, env_reset_failed : bool
    failure_mode : str
        As ROLL's managers read them; a reset that fails raises an error.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ROLL_OPTIONS = NativeOptions
    EPISODE = (
        *GemSokobanEnv.EPISODE,
        *("message_history", "task_idx", "current_step", "reward"),
        *("terminated", "truncated", "env_timeout", "stop_reason"),
    )
    ROOM: ClassVar[Mapping[str, Any]] = {"dim_room": (6, 6), "num_boxes": 1}
    TOOLS: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """The tools that a model is given, as OpenAI describes functions."""
    SYSTEM_END: ClassVar[str] = ""
    """The end of the system's message."""

    env_reset_failed = False
    failure_mode = ""

    @accepts_keywords_of(NativeOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        template, suffix = self.options.system_template, self.options.observation_suffix
        if suffix is None:
            suffix = _FORMAT.format(actions=", ".join(self.ACTION_LOOKUP.values()))
        self.system_template: str = _SYSTEM if template is None else template
        self.observation_suffix: str = suffix
        self.task_idx = 0
        self._begin()

    def _begin(self) -> None:
        """Forget the episode."""
        self.message_history: list[dict[str, Any]] = []
        self.current_step, self.reward = 0, 0.0
        self.terminated = self.truncated = self.env_timeout = False
        self.stop_reason = ""

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; see `GemEnv.reset`.

        Returns
        -------
        messages : list of dict
            That of the system, and the first one of the user.
        info : dict
            Has ``tools``, and ``error_msg`` and ``failure_mode``, which are empty.
        """
        room, info = super().reset(seed)
        if room is None:  # after the last episode of an evaluation split
            return None, info
        self._begin()
        self.task_idx += 1
        instructions = f"{info['env_instruction']}{self.SYSTEM_END}"
        self._say("system", f"{self.system_template}\n\n{instructions}")
        self._say_room("Here is the current state", room)
        info = {
            "tools": [copy.deepcopy(tool) for tool in self.TOOLS],
            "error_msg": "",
            "failure_mode": self.failure_mode,
        }
        return copy.deepcopy(self.message_history), info

    def step(self, action: Any) -> Step:
        """Take the action of a model's answer, or stop the episode.

        Parameters
        ----------
        action : str, mapping or enum member
            The whole answer: a text, or a message (`GemSokobanToolCallEnv`).
            ``MAX_LENGTH`` and ``ENV_TIMEOUT`` of ROLL's `EpisodeStopReason` stop the
            episode.

        Returns
        -------
        messages, reward, terminated, truncated, info
            The info is that of `GemEnv.step`, with ``failure_mode``,
            ``error_messages``, ``stop_reason``, ``test_output`` and more metrics.  It
            is empty for a stop.

        Raises
        ------
        InvalidActionError, ResetNeededError, EnvironmentFaultError
            See `GemEnv.step`.
        """
        info = self._stop(action) if isinstance(action, Enum) else self._respond(action)
        messages = copy.deepcopy(self.message_history)
        return messages, self.reward, self.terminated, self.truncated, info

    def _respond(self, action: Any) -> dict[str, Any]:
        """Play an answer, write it and its outcome down, and return ROLL's info."""
        answer = check_text(action)
        info = self._move(answer)
        self._say("assistant", answer)
        is_valid = info["metrics"]["action_is_valid"]
        self._say_room("Current state", self._observation, "" if is_valid else REMINDER)
        return info

    def _stop(self, action: Enum) -> dict[str, Any]:
        """End the episode as truncated; the next call must be a reset."""
        reason = action.name
        if reason not in _STOP_REASONS:
            accepted = f"an answer, {' or '.join(_STOP_REASONS)}"
            raise InvalidActionError.expected("action", accepted, reason)
        self._check_running()
        self._is_running = False
        self.stop_reason, self.env_timeout = reason, reason == "ENV_TIMEOUT"
        self._count(0.0, True, True)
        return {}

    def _move(self, answer: str) -> dict[str, Any]:
        """Play an answer, and return ROLL's info."""
        _, reward, terminated, truncated, info = super().step(answer)
        self._count(reward, terminated, truncated)
        info["metrics"] |= {
            "env_timeout": self.env_timeout,
            "env_reset_failed": self.env_reset_failed,
            "raw_reward": reward,
            "task_id": self.task_idx,
        }
        return info | {
            "failure_mode": self.failure_mode,
            "error_messages": [],
            "stop_reason": self.stop_reason,
            "test_output": "",
        }

    def _count(self, reward: float, terminated: bool, truncated: bool) -> None:
        """Note the outcome of an answer."""
        self.current_step += 1
        self.reward, self.terminated, self.truncated = reward, terminated, truncated

    def _say(self, role: str, content: Any, **more: Any) -> None:
        """Add a message to the chat."""
        self.message_history.append({"role": role, "content": content, **more})

    def _say_room(self, title: str, room: str, reminder: str = "") -> None:
        """Add the user's message with the room to the chat."""
        text = f"{reminder}{title}:\n{room}\n\n{self.observation_suffix}"
        self._say("user", text)

    @property
    def env_info(self) -> dict[str, Any]:
        """What ROLL's manager writes beside a trajectory.

        Boxes are counted in the text, by their symbols.  ``roll_vec`` has what plays
        the episode again, for `roll_vec.recordings.readers`.
        """
        room = self._observation or ""
        on_target, others = (
            room.count(self.GRID_LOOKUP[code]) for code in (BOX_ON_TARGET, BOX)
        )
        return {
            "task_idx": self.task_idx,
            "dim_room": self.our_options.dim_room,
            "num_boxes": on_target + others,
            "max_steps": self.max_steps,
            "current_step": self.current_step,
            "boxes_on_target": on_target,
            FACTS: self._facts(),
        }

    def _facts(self) -> dict[str, Any]:
        """Return the id, the keywords of a batch of texts, and the seed."""
        # JSON has no keys that are integers, as those of tables are.
        names = self._keywords.keys() - {"action_start", "grid_lookup", "render_mode"}
        keywords = {
            **{name: self._keywords[name] for name in names},
            "obs_mode": "text",
            "action_mode": "text",
            "action_pattern": self.action_pattern,
            "special_token_list": self.options.special_token_list,
            "format_penalty": self.format_penalty,
            "max_episode_steps": -1,
        }
        return {"id": self.ID, "keywords": to_json(keywords), "seed": self._seed}


@dataclass(frozen=True, kw_only=True)
class ToolCallOptions(NativeOptions):
    """The keywords of ROLL's ``sokoban_tool_call``, and its defaults.

    Parameters
    ----------
    full_history : bool
        True: a call with a wrong direction is left out of the chat, and a reminder
        takes its place; so ROLL tests chats that fork.
    env_instruction : str
    observation_suffix, action_pattern, special_token_list
        Without effect: no text is an action, and messages have no suffix.
    **keywords
        Those of `NativeOptions`.

    Raises
    ------
    InvalidOptionError
    """

    full_history: bool = False
    env_instruction: str | None = (
        f"{SOKOBAN_RULES} Use the move_player tool to move the player."
    )


class GemSokobanToolCallEnv(GemSokobanNativeEnv):
    """ROLL's ``sokoban_tool_call``: actions are calls of the tool ``move_player``.

    `step` takes a message as OpenAI's, and makes the first of its ``tool_calls``.
    A message or a text without a call of the tool, and a call with a wrong direction,
    earn ``format_penalty``; nothing moves, and the step limit does not count them: the
    info has ``metrics``, ``metrics_agg_mode`` and ``action_desc`` alone.

    Messages and infos are ROLL's, but for what are mistakes there, besides those of
    `GemSokobanNativeEnv`:

    - ``current_step`` counts each call with a direction twice.  ``reward``,
      ``terminated`` and ``truncated`` keep the values of the last such call when other
      answers follow.
    - To stop the episode is an answer without a call there, so that an episode whose
      prompt is too long never ends.
    - Arguments that are JSON but no object, and a direction that is no text, are an
      AttributeError there; here the first are no call, the second a wrong direction.

    Parameters
    ----------
    **keywords
        Those of `ToolCallOptions`, and those of
        `roll_vec.envs.sokoban.Sokoban`, as in `GemSokobanNativeEnv`.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ROLL_OPTIONS = ToolCallOptions
    TOOLS = (_TOOL,)
    SYSTEM_END = _USE_THE_TOOL

    @accepts_keywords_of(ToolCallOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.observation_suffix = ""

    def _respond(self, action: Any) -> dict[str, Any]:
        self._check_running()
        tool_call = parse_call(action)
        if tool_call is None:
            info = self._refuse()
            self._say("assistant", str(action)[:200])
            self._say_room("Current state", self._observation, _NO_CALL)
            return info
        call, direction = tool_call
        is_direction = direction in DIRECTIONS
        info = self._move(direction) if is_direction else self._refuse()
        room, reminder = self._observation, ""
        if is_direction or not self.options.full_history:
            has_moved = info["metrics"]["action_is_effective"]
            kind, title = ("Success", "New") if has_moved else ("Error", "Current")
            text = f"{kind}: {info['action_desc']}\n\n{title} state:\n{room}"
            self._say("assistant", action.get("content", ""), tool_calls=[call])
            self._say("tool", text, tool_call_id=call["id"])
        else:
            reminder = _REMOVED_CALL
        self._say_room("Current game state", room, reminder)
        return info

    def _refuse(self) -> dict[str, Any]:
        """Count an answer that moves nothing, and return ROLL's info."""
        self._count(self.format_penalty, False, False)
        description = "Invalid action (parameter validation failed)"
        result = {"action_is_effective": False, "success": False}
        info = self._info({"action": None}, description, result, self.format_penalty)
        # Nothing was parsed.
        del info["action"]
        return info

    def parse_action(self, text: str) -> dict[str, Any]:
        """Return the action of a direction; see `GemEnv.parse_action`."""
        code = DIRECTIONS.index(text) + 1 if text in DIRECTIONS else None
        return {"action": code, "action_content": text, "think_content": ""}


def parse_call(action: Any) -> tuple[dict[str, Any], str] | None:
    """Return the first call of ``move_player`` in a message, and its direction.

    Returns
    -------
    (call, direction) or None
        None without a call that has an id, the name of the tool and an object of
        arguments.  The direction has small letters; it is empty if it is no text.
    """
    calls = action.get("tool_calls") if isinstance(action, Mapping) else None
    call = calls[0] if isinstance(calls, list) and calls else None
    if not isinstance(call, dict) or "id" not in call:
        return None
    function = call.get("function")
    if not isinstance(function, dict) or function.get("name") != "move_player":
        return None
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if not isinstance(arguments, dict):
        return None
    direction = arguments.get("direction", "")
    return copy.deepcopy(call), direction.lower() if isinstance(direction, str) else ""
