"""A browser without a window, and pages in it, with all that they report."""

import json
import shutil

import pytest

from roll_vec.watch.page import make_page

SIZE = 1280, 900
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # which Chromium needs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
)


@pytest.fixture(scope="session")
def browser():
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        message = "a browser is needed: apt-get install chromium chromium-driver"
        pytest.fail(message, pytrace=False)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ARGUMENTS:
        options.add_argument(argument)
    logs = {"browser": "ALL", "performance": "ALL"}
    options.set_capability("goog:loggingPrefs", logs)
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield browser
    browser.quit()


class Page:
    """A page in the browser."""

    def __init__(self, browser, url):
        self.browser = browser
        browser.get_log("browser"), browser.get_log("performance")  # of earlier pages
        self.set_size(*SIZE)
        browser.get(url)
        # The browser says which cards are on the screen a moment later.
        self.wait("return window.watchPage?.cards.some((card) => card.tick >= 0)")

    def set_size(self, width, height):
        """Set the pixels of the page, without the frame of the window."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1}
        command = "Emulation.setDeviceMetricsOverride"
        self.browser.execute_cdp_cmd(command, {**metrics, "mobile": False})

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def wait(self, script, *arguments):
        """Wait until a script returns something true; return it."""
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.browser, 10, poll_frequency=0.02)
        return wait.until(lambda _: self.run(script, *arguments), script)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def click(self, selector):
        self.one(selector).click()

    def press(self, *keys):
        """Press keys on whatever has the focus."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    @property
    def tick(self):
        return self.run("return watchPage.timeline.tick")

    def text(self, selector):
        return self.run(
            "return document.querySelector(arguments[0]).textContent", selector
        )

    def check_quiet(self):
        """Check that nothing was reported, loaded or run that the page does not say."""
        assert self.browser.get_log("browser") == []
        assert self.run("return performance.getEntriesByType('resource')") == []
        entries = [
            json.loads(entry["message"])["message"]
            for entry in self.browser.get_log("performance")
        ]
        urls = {
            entry["params"]["request"]["url"]
            for entry in entries
            if entry["method"] == "Network.requestWillBeSent"
        }
        assert {url.partition(":")[0] for url in urls} <= {"file"}
        assert len(urls) == 1
        assert self.run("return window.broken") is None


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens the page of a recording; check it at the end."""
    pages = []

    def open_page(recording):
        path = tmp_path / f"page{len(pages)}.html"
        path.write_text(make_page(recording), encoding="utf-8")
        pages.append(Page(browser, path.as_uri()))
        return pages[-1]

    yield open_page
    assert pages
    pages[-1].check_quiet()
