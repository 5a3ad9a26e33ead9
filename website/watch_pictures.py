"""The pictures of docs/watching.md: ``python -m website.watch_pictures``.

Pages of `roll-vec watch` in Chromium; it needs the extras cli and browser, and the
Debian packages chromium and chromium-driver.
"""

from __future__ import annotations

import io
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from roll_vec.cli import main
from roll_vec.envs.countdown.solver import solve
from website.browser import set_page_size, start_browser

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLOURS = 96


class Picture(NamedTuple):
    """A page at one time: the command's arguments, and what is done on the page."""

    name: str
    arguments: tuple[str, ...]
    size: tuple[int, int]
    script: str


PICTURES = (
    Picture(
        "watch_boards.png",
        ("roll_vec/Sokoban-v0", "--policy", "oracle", "--num-envs", "10"),
        (960, 600),
        "watchPage.timeline.go(13)",
    ),
    Picture(
        "watch_texts.png",
        (
            *("roll_vec/Countdown-v0", "--num-envs", "16", "--steps", "6"),
            *("--policy", "website.watch_pictures:some_answers"),
            *("-o", "group_size=4", "-o", "action_pattern=<answer>(.*?)</answer>"),
        ),
        (960, 600),
        "document.documentElement.dataset.theme = 'dark'; watchPage.marks();"
        "watchPage.timeline.go(1)",
    ),
)


def some_answers(observations: Sequence[str]) -> list[str]:
    """Return answers to Countdown's tasks: right, without tags, wrong, not a sum."""
    answers = []
    for i, text in enumerate(observations):
        target, *nums = map(int, re.findall(r"\d+", text))
        right = f"<answer>{solve(nums, target)}</answer>"
        joined = " + ".join(map(str, nums))
        others = (
            f"It is {joined}.",
            f"<answer>{joined}</answer>",
            "<answer>no</answer>",
        )
        answers.append((right, *others)[i % 4])
    return answers


def draw(browser: Any, picture: Picture, folder: Path) -> Image.Image:
    """Return a picture of a page, in few colours."""
    page = folder / "page.html"
    assert main(["watch", *picture.arguments, "--quiet", "--out", str(page)]) == 0
    set_page_size(browser, *picture.size)
    browser.get(page.as_uri())
    while not browser.execute_script("return Boolean(window.watchPage)"):
        time.sleep(0.05)
    browser.execute_script(picture.script)
    time.sleep(0.5)  # a frame, and the scroll bars that fade
    image = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    return image.quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    browser = start_browser(960, 600)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for picture in PICTURES:
                image = draw(browser, picture, Path(folder))
                image.save(DOCS / picture.name, optimize=True)
    finally:
        browser.quit()
