"""A browser without a window, for pictures of pages and for tests."""

from __future__ import annotations

import shutil
from typing import Any

__all__ = ["start_browser"]

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # which Chromium needs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
)


def start_browser(width: int, height: int, logs: dict[str, str] | None = None) -> Any:
    """Return a driver of selenium with a page of some pixels; ``quit`` ends it.

    Parameters
    ----------
    width, height : int
    logs : dict of str to str, optional
        The logs to keep, and the lowest level of their entries.

    Raises
    ------
    RuntimeError
        If the browser or its driver is not installed.
    """
    from selenium import webdriver

    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        message = "a browser is needed: apt-get install chromium chromium-driver"
        raise RuntimeError(message)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", logs or {})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    set_page_size(browser, width, height)
    return browser


def set_page_size(browser: Any, width: int, height: int) -> None:
    """Set the pixels of the page, without the frame of the window."""
    metrics = {
        "width": width,
        "height": height,
        "deviceScaleFactor": 1,
        "mobile": False,
    }
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
