"""A window on the screen for ``render_mode="human"``, through pygame."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.render.mosaic import upscale

# pygame has one display for a process, with one surface.
_on_screen: Window | None = None


class Window:
    """A window that shows frames, enlarged by a whole number.

    It opens at the first frame.  When the user closes it, it stays closed and further
    frames are dropped, so that the program goes on.  A process has one display: of
    several windows, the one with the newest frame is visible.

    Parameters
    ----------
    title : str, default "roll_vec"
    size : int, default 640
        The largest side, in pixels, that a small frame is enlarged to.  Of a frame with
        more than 1.5 times as many it shows every second pixel, or fewer.

    Notes
    -----
    The display is SDL's; ``SDL_VIDEODRIVER=dummy`` works without a screen.  Pickles and
    copies leave the open display out: the copy opens its own.
    """

    def __init__(self, title: str = "roll_vec", *, size: int = 640) -> None:
        self.title = title
        self.size = size
        self._closed_by_user = False
        self._clock: Any = None

    @property
    def is_open(self) -> bool:
        """True if this window is the one on the screen."""
        return _on_screen is self

    def show(self, frame: NDArray[np.uint8], fps: float | None = None) -> bool:
        """Show a frame, and wait if the last one is too recent.

        Parameters
        ----------
        frame : (H, W, 3) uint8
        fps : float, optional
            The largest number of frames a second; None or 0 does not wait.

        Returns
        -------
        bool
            False when the user has closed the window.

        Raises
        ------
        MissingExtraError
            pygame is not installed.
        InvalidOptionError
            The frame has another shape.
        """
        if self._closed_by_user:
            return False
        if frame.ndim != 3 or frame.shape[2] != 3:
            message = f"a frame has shape (H, W, 3), not {frame.shape}"
            raise InvalidOptionError(message)
        pygame = import_pygame('render_mode="human"')
        # A screen has no room for the pictures of 16 cart poles.
        step = max(1, math.ceil(max(frame.shape) / (1.5 * self.size)))
        frame = frame[::step, ::step]
        height, width = frame.shape[:2]
        factor = max(1, self.size // max(height, width, 1))
        surface = self._display(pygame, (factor * width, factor * height))
        # pygame's arrays are indexed by column, then row.
        pixels = upscale(frame, factor).transpose(1, 0, 2)
        pygame.surfarray.blit_array(surface, pixels)
        pygame.display.flip()
        # An unread queue of events makes window managers report a hung program.
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            self._closed_by_user = True
            return False
        if fps:
            self._clock.tick(fps)
        return True

    def close(self) -> None:
        """Close the window; a later frame opens it again.

        Without an open window this does nothing.
        """
        global _on_screen
        if self.is_open:
            _on_screen = None
            import_pygame('render_mode="human"').display.quit()

    def _display(self, pygame: Any, size: tuple[int, int]) -> Any:
        """Return the display's surface; open, take over or resize it if necessary."""
        global _on_screen
        surface = pygame.display.get_surface() if pygame.display.get_init() else None
        if _on_screen is not self or surface is None or surface.get_size() != size:
            pygame.display.init()
            surface = pygame.display.set_mode(size)
            pygame.display.set_caption(self.title)
            self._clock = pygame.time.Clock()
            _on_screen = self
        return surface

    def __getstate__(self) -> dict[str, Any]:
        return {"title": self.title, "size": self.size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["title"], size=state["size"])  # type: ignore[misc]


def import_pygame(feature: str) -> Any:
    """Return the module ``pygame``; the error names the feature that needs it.

    Raises
    ------
    MissingExtraError
    """
    # Its greeting on stdout would stand among the results of a program.
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        # pygame's own imports warn about packages that it can do without.
        warnings.simplefilter("ignore")
        return MissingExtraError.import_module("pygame", feature, extra="render")
