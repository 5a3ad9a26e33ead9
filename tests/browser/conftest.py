"""A browser without a window, and pages in it, with all that they report."""

import json

import pytest

from roll_vec.watch.page import make_page
from tests.browser.chromium import set_page_size, start_browser

SIZE = 1280, 900


@pytest.fixture(scope="session")
def browser():
    try:
        browser = start_browser(*SIZE, logs={"browser": "ALL", "performance": "ALL"})
    except RuntimeError as error:
        pytest.fail(str(error), pytrace=False)
    yield browser
    browser.quit()


class Page:
    """A page in the browser."""

    def __init__(self, browser, url):
        self.browser = browser
        browser.get_log("browser"), browser.get_log("performance")  # of earlier pages
        set_page_size(browser, *SIZE)
        browser.get(url)
        # The browser says which cards are on the screen a moment later.
        self.wait("return window.watchPage?.cards.some((card) => card.tick >= 0)")

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

    def shown(self):
        """Return the numbers of the environments on the page."""
        cards = self.all(".card:not([hidden])")
        return [int(card.get_attribute("data-env")) for card in cards]

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
