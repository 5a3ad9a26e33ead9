"""The keywords of a model's answers, with ROLL's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roll_vec.text.options import TextOptions


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The keywords of a model's answers, and ROLL's defaults.

    Parameters
    ----------
    action_pattern : str
        A regular expression with a group for the action, or one for the thinking and
        one for the action.
    special_token_list : sequence of str, or None
        Deleted before the pattern is searched for.
    format_penalty : float
        The reward of an answer that is no action, or added to it.
    env_instruction : str or None
        Replaces the description of the game in the prompt.
    """

    action_pattern: str = "<answer>(.*?)</answer>"
    special_token_list: Sequence[str] | None = ("<|im_start|>", "<|im_end|>")
    format_penalty: float = 0.0
    env_instruction: str | None = None

    def text_options(self, *, removes_tokens: bool = True) -> TextOptions:
        """Return the options of the parser, checked.

        Parameters
        ----------
        removes_tokens : bool
            Whether the special tokens are deleted.

        Raises
        ------
        InvalidOptionError
        """
        return TextOptions(
            action_pattern=self.action_pattern,
            special_token_list=self.special_token_list if removes_tokens else None,
            format_penalty=self.format_penalty,
        )
