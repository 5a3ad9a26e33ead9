"""The player of a page, in a real browser: clicks, keys, jumps, conversations."""

import pytest

from tests.watch import recordings
from tests.watch.recordings import HOSTILE, VISIBLE

pytestmark = pytest.mark.browser

ESCAPE, END, HOME, LEFT, RIGHT = "\ue00c", "\ue010", "\ue011", "\ue012", "\ue014"


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
    board = recordings.latest(recording, index, tick).board
    return [tiles[code, middle, middle].tolist() for code in board.reshape(-1)]


def test_boards_follow_the_slider(open_page):
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
    assert page.text('[data-env="0"] .badge').strip() == "success"
    assert page.text('[data-env="0"] .action') == "Right"
    # The sum of four tenths, to six digits.
    assert page.text('[data-env="0"] .reward') == "+0.1"
    assert page.text('[data-env="0"] .sum') == "sum 0.4"
    assert page.text('[data-env="1"] .count') == "ep 1 · step 3"
    assert page.text('[data-env="1"] .badge').strip() == "no success"
    facts = [fact.text for fact in page.all("#facts span")]
    assert facts[:3] == ["4 environments", "6 steps", "3 episodes ended"]
    assert facts[3:5] == ["1 success", "1 fault"]


def test_buttons_and_keys(open_page):
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
    ticks = []
    for name in ("next", "last", "previous", "first"):
        page.click(f"#{name}")
        ticks.append(page.tick)
    assert ticks == [1, 6, 5, 0]
    ticks.clear()
    for key in (RIGHT, RIGHT, LEFT, END, HOME):
        page.press(key)
        ticks.append(page.tick)
    assert ticks == [1, 2, 1, 6, 0]
    page.run("document.activeElement.blur()")
    for is_playing in (True, False):
        page.press(" ")
        assert page.run("return watchPage.timeline.isPlaying") is is_playing
    page.press("5")
    assert page.one("#speed").get_attribute("value") == "5"
    page.press("?")
    assert "first difference" in page.text("#keys")
    assert page.one("#keys").is_displayed()
    page.press(ESCAPE)
    assert not page.one("#keys").is_displayed()


def test_jumps(open_page):
    page = open_page(recordings.boards())
    ticks = []
    for key in ("e", "e", "E", "s", "f", "F", "S"):
        page.press(key)
        ticks.append(page.tick)
    #  ends: 3 4 5; a success: 4; a fault: 5; none before it
    assert ticks == [3, 4, 3, 4, 5, 5, 4]
    page.click("#first")
    page.click("#fault")
    assert page.tick == 5
    assert "flash" in page.one('[data-env="2"]').get_attribute("class")
    assert page.text("#live") == "fault: environment 2, step 5"
    page.click("#fault")
    assert "no later fault" in page.text("#live")


def test_enlarged_environment(open_page):
    recording = recordings.boards()
    page = open_page(recording)
    page.click('[data-env="1"] .stage')
    assert page.text("#detail-title") == "Environment 1"
    page.press(RIGHT, RIGHT, RIGHT)
    assert pixels(page, "#detail canvas") == expected_pixels(recording, 1, 3)
    side = page.one("#detail .side").text.split("\n")
    for name, value in (("end", "terminated"), ("success", "no"), ("prob", "1")):
        assert side[side.index(name) + 1] == value
    moves = page.all("#detail .moves button")
    words = [move.text.split()[0] for move in moves]
    assert words == ["start", "Right", "Right", "Right"]
    assert moves[3].get_attribute("aria-current") == "step"
    moves[1].click()
    assert page.tick == 1
    page.press("]")
    assert page.text("#detail-title") == "Environment 2"
    page.press("f")
    assert VISIBLE in page.text("#detail .side")
    page.press(ESCAPE)
    assert not page.one("#detail").is_displayed()
    # The keyboard stays where it was: on the environment that was enlarged.
    page.wait("return document.activeElement.textContent === '#2'")
    page.press("\ue007")  # Enter
    assert page.one("#detail").is_displayed()


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
    page.press(LEFT)
    # One step back removes the last messages.
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
    page.press("]", LEFT)
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


def test_first_difference_is_marked(open_page):
    page = open_page(recordings.differing())
    banner = page.text("#banner")
    assert "step 3, environment 2" in banner
    assert "observations[0, 1]" in banner
    assert VISIBLE in banner
    badge = '[data-env="2"] [data-state="difference"]'
    assert page.all(badge) == []
    page.click("#banner button")
    assert page.tick == 3
    assert page.one(badge).is_displayed()
    assert len(page.all(".card.differs")) == 1
    page.press(HOME, "d")
    assert page.tick == 3
    page = open_page(recordings.boards(is_replay=True))
    assert page.one("#banner").text.endswith("all results of 6 steps.")


def test_thousand_environments_are_drawn_as_they_come_near(open_page):
    page = open_page(recordings.many())
    drawn = "return watchPage.cards.filter((card) => card.tick >= 0).length"
    assert 0 < page.run(drawn) < 300
    page.run("document.querySelector('[data-env=\"999\"]').scrollIntoView()")
    page.wait("return watchPage.cards[999].tick >= 0")
    assert page.run(drawn) < 600


def test_layout_follows_the_colour_scheme_and_the_screen(open_page):
    page = open_page(recordings.many(num_envs=40))
    for value, colour in (("dark", "17, 20, 27"), ("light", "243, 244, 247")):
        feature = {"name": "prefers-color-scheme", "value": value}
        command = "Emulation.setEmulatedMedia"
        page.browser.execute_cdp_cmd(command, {"features": [feature]})
        ground = "return getComputedStyle(document.body).backgroundColor"
        assert page.run(ground) == f"rgb({colour})"
    # The player stays at the bottom of a low screen; a narrow one does not scroll.
    for size in ((1280, 560), (740, 360), (360, 740)):
        page.set_size(*size)
        top, bottom = page.run(
            "const { top, bottom } = document.getElementById('player')"
            ".getBoundingClientRect(); return [top, bottom]"
        )
        assert bottom == size[1]
        assert bottom - top < size[1] / 4
        assert page.run("return document.documentElement.scrollWidth") <= size[0]
    page.click('[data-env="0"] .open')
    assert page.run("return document.getElementById('detail').scrollWidth") <= 360
