"""The base of single environments that are rendered: frames, or a window."""

from __future__ import annotations

from typing import Any

import gymnasium

from roll_vec.base_envs import ClosableEnv


class RenderedEnv(ClosableEnv):
    """An environment that returns frames, or shows them in a window.

    A subclass gives `_frame` and `_check_started`, and calls `_show` after each reset
    and step.
    """

    _window: Any = None

    def render(self) -> Any:
        """Return a frame in the form of ``render_mode``.

        Returns
        -------
        (H, W, 3) uint8, str or None
            None in ``human`` mode, which shows a window, and without a mode.
        """
        self._check_open()
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called without a render_mode; give one at construction, "
                f"one of {', '.join(map(repr, self.metadata['render_modes']))}"
            )
            return None
        self._check_started()
        if self.render_mode == "human":
            self._show()
            return None
        return self._frame(self.render_mode)

    def _frame(self, mode: str) -> Any:
        """Return a frame in a mode that is not ``human``."""
        raise NotImplementedError

    def _check_started(self) -> None:
        """Raise an error before the first reset, and after `close`."""
        raise NotImplementedError

    def _show(self) -> None:
        """Show a frame in a window, in human mode."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from roll_vec.render.window import Window

            self._window = Window()
        self._window.show(self._frame("rgb_array"), self.metadata["render_fps"])

    def close(self) -> None:
        """Close the environment and the window, if there is one."""
        super().close()
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        # A window belongs to its process.
        return {**self.__dict__, "_window": None}
