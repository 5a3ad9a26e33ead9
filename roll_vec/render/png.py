"""Pictures as PNG files, and as the URLs of chats; Pillow writes them."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import MissingExtraError

Pixels = NDArray[np.uint8]


def to_image(pixels: Pixels) -> Any:
    """Return (H, W, 3) pixels as a `PIL.Image.Image`.

    Raises
    ------
    MissingExtraError
    """
    return import_pillow().fromarray(pixels)


def to_png(pixels: Pixels) -> bytes:
    """Return (H, W, 3) pixels as a PNG file; equal pixels give equal bytes.

    Raises
    ------
    MissingExtraError
    """
    file = io.BytesIO()
    to_image(pixels).save(file, format="PNG")
    return file.getvalue()


def to_data_url(pixels: Pixels) -> str:
    """Return (H, W, 3) pixels as the URL of a PNG file, which the URL contains.

    Raises
    ------
    MissingExtraError
    """
    return f"data:image/png;base64,{base64.b64encode(to_png(pixels)).decode('ascii')}"


def import_pillow(feature: str = "a picture in a chat") -> Any:
    """Return the module ``PIL.Image``; the error names the feature that needs it.

    Raises
    ------
    MissingExtraError
    """
    return MissingExtraError.import_module(
        "PIL.Image", feature, extra="cli", package="pillow"
    )
