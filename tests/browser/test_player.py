"""The player of a page, in a real browser: clicks, keys, jumps, filters, themes."""

import pytest

from tests.browser.chromium import set_page_size
from tests.watch import recordings
from tests.watch.recordings import HOSTILE, VISIBLE

pytestmark = pytest.mark.browser


def pixels(page, selector):
    """Return the colours of a canvas, at the middle of each cell of 2 rows of 4."""
    return page.run(
        """
        const canvas = document.querySelector(arguments[0]), colours = [];
        const copy = new OffscreenCanvas(canvas.width, canvas.height);
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        for (let y = 0; y < 2; y++) for (let x = 0; x < 4; x++) {
          const place = [(x + 0.5) * canvas.width / 4, (y + 0.5) * canvas.height / 2];
          colours.push([...context.getImageData(...place, 1, 1).data].slice(0, 3));
        }
        return colours;
        """,
        selector,
    )


def expected_pixels(recording, index, tick):
    tiles = recording.tiles
    middle = tiles.shape[1] // 2
    board = recording.latest(index, tick).board
    return [tiles[code, middle, middle].tolist() for code in board.reshape(-1)]


def test_boards_follow_the_scrubber(open_page):
    recording = recordings.boards()
    page = open_page(recording)
    for tick in (0, 3, 4, 6, 1):
        page.run(
            "const s = document.getElementById('scrub'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'));",
            tick,
        )
        for env in range(4):
            colours = pixels(page, f'[data-env="{env}"] canvas')
            assert colours == expected_pixels(recording, env, tick)
    page.run("watchPage.timeline.go(4)")
    assert page.text('[data-env="0"] .badge.success').endswith("success")
    assert page.text('[data-env="0"] .action') == "Right"
    # The sum of four tenths, to six digits.
    assert page.text('[data-env="0"] .reward') == "+0.1"
    assert page.text('[data-env="0"] .sum') == "sum 0.4"
    assert page.text('[data-env="1"] .count') == "ep 1 · step 3"
    assert (
        page.one('[data-env="1"] .badge.failure').get_attribute("title") == "no success"
    )
    label = page.one('[data-env="0"] canvas').get_attribute("aria-label")
    assert "2 by 4" in label
    assert "1 player on goal" in label


def test_play_goes_to_the_end_and_pauses(open_page):
    page = open_page(recordings.boards())
    page.press("7")
    # In one script: the few steps may end before the next command arrives.
    button = "const play = document.getElementById('play'); play.click(); "
    assert page.run(f"{button} return play.textContent") == "Pause"
    page.wait("return watchPage.timeline.tick === 6")
    page.wait("return !watchPage.timeline.isPlaying")
    assert page.text("#play") == "Play"
    assert page.text("#position") == "step 6 of 6"
    page.wait("return document.getElementById('live').textContent.startsWith('paused')")
    # Play at the end begins anew.
    page.press("1")
    page.click("#play")
    assert page.tick == 0
    page.click("#play")
    page.click("#next")
    assert page.tick == 1
    page.click("#last")
    page.click("#previous")
    assert page.tick == 5
    page.click("#first")
    assert page.tick == 0


def test_keys(open_page):
    from selenium.webdriver.common.keys import Keys

    page = open_page(recordings.boards())
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert page.tick == 1
    page.press(Keys.END)
    assert page.tick == 6
    page.press(Keys.HOME)
    assert page.tick == 0
    page.press("1", " ")
    assert page.run("return watchPage.timeline.isPlaying")
    page.press(" ")
    assert not page.run("return watchPage.timeline.isPlaying")
    page.press("5")
    assert page.one("#speed").get_attribute("value") == "5"
    page.press("?")
    assert page.one("#keys").is_displayed()
    assert "first difference" in page.text("#keys")
    page.press(Keys.ESCAPE)
    assert not page.one("#keys").is_displayed()
    # Keys belong to the field while one writes in it.
    page.press("/")
    page.press("1")
    assert page.one("#speed").get_attribute("value") == "5"
    assert page.shown() == [1]
    page.press(Keys.BACKSPACE, Keys.ESCAPE, Keys.END)
    assert page.tick == 6
    assert page.shown() == [0, 1, 2, 3]


def test_jumps(open_page):
    page = open_page(recordings.boards())
    ticks = []
    for key in ("e", "e", "E", "s", "f", "F", "S"):
        page.press(key)
        ticks.append(page.tick)
    #  ends: 3 4 5; a success: 4; a fault: 5; none before it
    assert ticks == [3, 4, 3, 4, 5, 5, 4]
    page.click("#first")
    page.click('[data-jump="fault"]')
    assert page.tick == 5
    assert "flash" in page.one('[data-env="2"]').get_attribute("class")
    assert page.text("#live") == "fault: environment 2, step 5"
    page.click('[data-jump="fault"]')
    assert "no later fault" in page.text("#live")
    # Only of those that are on the page.
    page.click("#first")
    page.run("document.getElementById('find').value = '0, 2-3'; watchPage.filter()")
    page.press("e")
    assert page.tick == 4


def test_filter(open_page):
    page = open_page(recordings.boards())
    options = {each.get_attribute("value"): each for each in page.all("#filter option")}
    assert options["success"].text == "with a success (1)"
    shown = {}
    for name, option in options.items():
        option.click()
        shown[name] = page.shown()
    assert shown == {
        "all": [0, 1, 2, 3],
        "success": [0],
        "failure": [1, 2, 3],
        "end": [0, 1, 2],
        "fault": [2],
    }
    page.run("document.getElementById('find').value = '3'; watchPage.filter()")
    assert page.shown() == []
    assert page.one(".nothing").is_displayed()


def choose(page, field, value):
    page.one(f'#{field} option[value="{value}"]').click()


def test_sort(open_page):
    page = open_page(recordings.boards())
    # Returns 0.4, 0.3 and 0.5; environment 3 has a sum of 0.6 and no end.
    choose(page, "sort", "best")
    assert page.shown() == [3, 2, 0, 1]
    choose(page, "filter", "end")
    assert page.shown() == [2, 0, 1]
    page.click(".card:not([hidden]) .open")
    page.press("]")
    assert page.text("#detail-title") == "Environment 0"
    page.press("\ue00c")  # Esc
    choose(page, "sort", "worst")
    choose(page, "filter", "all")
    assert page.shown() == [1, 0, 2, 3]
    choose(page, "sort", "number")
    assert page.shown() == [0, 1, 2, 3]
    # Siblings are sorted in their group.
    page = open_page(recordings.talks(group_size=2))
    choose(page, "sort", "worst")
    assert page.shown() == [1, 0, 2, 3]


def test_enlarged_environment(open_page):
    from selenium.webdriver.common.keys import Keys

    recording = recordings.boards()
    page = open_page(recording)
    page.click('[data-env="1"] .stage')
    assert page.text("#detail-title") == "Environment 1"
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert pixels(page, "#detail canvas") == expected_pixels(recording, 1, 3)
    side = page.one("#detail .side").text.split("\n")
    for name, value in (("end", "terminated"), ("success", "no"), ("prob", "1")):
        assert side[side.index(name) + 1] == value
    moves = page.all("#detail .moves button")
    assert [move.text.split()[0] for move in moves] == [
        "start",
        "Right",
        "Right",
        "Right",
    ]
    assert moves[3].get_attribute("aria-current") == "step"
    moves[1].click()
    assert page.tick == 1
    page.press("]")
    assert page.text("#detail-title") == "Environment 2"
    page.press("f")
    assert VISIBLE in page.text("#detail .side")
    page.press(Keys.ESCAPE)
    assert not page.one("#detail").is_displayed()
    # The keyboard stays where it was: on the environment that was enlarged.
    page.wait("return document.activeElement.textContent === '#2'")
    page.press(Keys.ENTER)
    assert page.one("#detail").is_displayed()


def test_address_leads_to_a_step_and_an_environment(open_page):
    page = open_page(recordings.boards())
    page.run("watchPage.timeline.go(3)")
    page.click('[data-env="1"] .open')
    address = page.browser.current_url
    assert address.endswith("#step=3&env=1")
    page.browser.get("about:blank")
    page.browser.get(address)
    page.wait("return Boolean(window.watchPage)")
    assert page.tick == 3
    assert page.text("#detail-title") == "Environment 1"
    page.press("]")
    assert page.browser.current_url.endswith("#step=3&env=2")
    page.press("\ue00c")  # Esc
    page.wait("return location.hash === '#step=3'")
    page.click("#next")
    assert page.browser.current_url.endswith("#step=4")
    # A link to another place of the page that is open.
    for hash, text in (
        ("#step=5&env=2", "step 5 of 6"),
        ("#step=1", "step 1 of 6"),
        ("#step=x&env=99", "step 1 of 6"),
    ):
        page.run("watchPage.timeline.play(); location.hash = arguments[0]", hash)
        page.wait("return !watchPage.timeline.isPlaying")
        assert page.text("#position") == text
        assert page.one("#detail").is_displayed() == ("env=2" in hash)
    page.wait("return location.hash === '#step=1'")
    # Nonsense in an address is no error.
    page.browser.get("about:blank")
    page.browser.get(address.replace("#step=3&env=1", "#step=x&env=99"))
    page.wait("return Boolean(window.watchPage)")
    assert page.tick == 0


def test_conversations_show_hostile_texts(open_page):
    page = open_page(recordings.talks())
    page.press("e")
    card = '[data-env="0"] .log'
    answers = page.run(
        "return [...document.querySelectorAll(arguments[0] + ' .answer > .body')]"
        ".map((each) => each.textContent)",
        card,
    )
    assert answers == [VISIBLE, "click[buy now]"]
    text = page.text(card)
    for part in (
        f"Buy the blue one. {VISIBLE}",
        "Page one [SEP] of 0",
        f"let me think {VISIBLE}",
        "not valid parsed as click[<b>]",
        "click[buy now] valid parsed as written",
        f"heard: {VISIBLE}",
        "reward 1",
        "sum 1",
        "success",
        "1,300 more characters",
    ):
        assert part in text
    # Only the elements of the page itself.
    assert page.all(f"{card} img, {card} script, {card} b, {card} i") == []
    assert len(page.all(f"{card} .separator")) == 1
    page.press("\ue012")
    # One step back takes the last messages away.
    assert len(page.all(f"{card} .answer")) == 1
    page.press("e")
    page.click('[data-env="0"] .open')
    assert "more characters" not in page.text("#detail .log")
    # The answer is above its long observation, not out of sight.
    page.wait(
        """
        const log = document.querySelector("#detail .log").getBoundingClientRect();
        const answer = [...document.querySelectorAll("#detail .answer")].at(-1);
        const { top, bottom } = answer.getBoundingClientRect();
        return log.top <= top && bottom <= log.bottom;
        """
    )
    page.press("]", "\ue012")
    assert page.text("#detail-title") == "Environment 1"
    assert "nested" in page.text("#detail .side")
    assert HOSTILE not in page.text("#detail .side")
    assert len(page.all("#detail .answer")) == 1


def test_groups_stand_side_by_side(open_page):
    page = open_page(recordings.talks())
    titles = [title.text for title in page.all(".siblings h2")]
    assert titles[0].startswith("Group 0\nenvironments 0–1, one task")
    assert len(titles) == 2
    tops = [round(card.rect["y"]) for card in page.all(".card")]
    assert tops[0] == tops[1] < tops[2] == tops[3]
    page.press("e")
    score = page.text(".siblings .score")
    assert score == "sum: mean 0.5, best 1 · successes now 1"
    page.run("document.getElementById('find').value = '3'; watchPage.filter()")
    assert len(page.all(".siblings:not([hidden])")) == 1


def test_first_difference_is_marked(open_page):
    page = open_page(recordings.differing())
    banner = page.text("#banner")
    assert "step 3, environment 2" in banner
    assert "observations[0, 1]" in banner
    assert VISIBLE in banner
    assert not page.one('[data-env="2"] .badge.difference').is_displayed()
    page.click("#banner button")
    assert page.tick == 3
    assert page.one('[data-env="2"] .badge.difference').is_displayed()
    assert len(page.all(".card.differs")) == 1
    page.press("\ue011", "d")  # Home
    assert page.tick == 3
    page.press("\ue011")
    page.click("#difference")
    assert page.tick == 3
    page = open_page(recordings.boards(is_replay=True))
    assert page.one("#banner").text.endswith("all results of 6 steps.")
    assert not page.one("#difference").is_displayed()


def test_thousand_environments_are_drawn_as_they_come_near(open_page):
    page = open_page(recordings.many())
    drawn = "return watchPage.cards.filter((card) => card.tick >= 0).length"
    page.wait(drawn.replace(".length", ".length > 0"))
    first = page.run(drawn)
    assert 0 < first < 300
    page.run("document.querySelector('[data-env=\"999\"]').scrollIntoView()")
    page.wait("return watchPage.cards[999].tick >= 0")
    assert page.run(drawn) < 600


def test_layout_follows_theme_and_screen(open_page):
    page = open_page(recordings.many(num_envs=40))
    grounds = []
    for value in ("dark", "light"):
        feature = {"name": "prefers-color-scheme", "value": value}
        command = "Emulation.setEmulatedMedia"
        page.browser.execute_cdp_cmd(command, {"features": [feature]})
        ground = "return getComputedStyle(document.body).backgroundColor"
        grounds.append(page.run(ground))
    assert grounds == ["rgb(17, 20, 27)", "rgb(243, 244, 247)"]
    for theme in ("light", "dark", "auto"):
        page.click("#theme")
        assert page.text("#theme") == f"Theme: {theme}"
    # The player stays at the bottom of a low screen; a narrow one does not scroll.
    for size in ((1280, 560), (740, 360), (360, 740)):
        set_page_size(page.browser, *size)
        top, bottom = page.run(
            "const { top, bottom } = document.getElementById('player')"
            ".getBoundingClientRect(); return [top, bottom]"
        )
        assert bottom == size[1]
        assert bottom - top < size[1] / 4
        assert page.run("return document.documentElement.scrollWidth") <= size[0]
    page.click('[data-env="0"] .open')
    assert page.run("return document.getElementById('detail').scrollWidth") <= 360
