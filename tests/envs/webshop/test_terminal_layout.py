"""The layout of pages at a terminal: lines, colours, no control characters."""

import pytest

from roll_vec.envs.webshop.pages import page_of
from roll_vec.envs.webshop.state import PAGES, State
from roll_vec.envs.webshop.terminal_layout import WIDTH, lay_out
from roll_vec.render.ansi import strip_colours
from tests.envs.webshop.small_shop import page_product, page_shop

START = State(0, keywords="red shoes")


def layout_of(shop, state, **more):
    """Return the layout of a page, without its colours."""
    layout = lay_out(shop, state, page_of(shop, state, **more))
    assert "\x1b[" in layout
    return strip_colours(layout)


def test_the_front_page():
    assert layout_of(page_shop([page_product()]), START) == (
        "Find me a shirt\n\nThe shop's front page\n\nsearch[words] looks for products"
    )


def test_results():
    title = "A title of some twenty words or so that go on and on for a line or more"
    shop = page_shop([page_product(asin=f"A{n}", title=title) for n in range(12)])
    state = START._replace(page="results")
    lines = layout_of(shop, state).split("\n")
    assert lines[:6] == [
        "Find me a shirt",
        "",
        "Page 1 of 2, 12 products were found",
        "",
        "a0          A title of some twenty words or so that go on and on for"
        "                $5.0",
        "            a line or more",
    ]
    assert lines[-3:] == [
        "",
        "[back to search]  [next >]",
        "click[name] of what is shown · search[words]",
    ]
    assert layout_of(shop, state._replace(page_no=4)) == (
        "Find me a shirt\n\nPage 4 of 2, 12 products were found\n"
        "There are no more of them.\n\n[back to search]  [< prev]  [next >]\n"
        "click[name] of what is shown · search[words]"
    )
    assert 'Nothing was found for "red shoes"' in layout_of(
        page_shop([], hits=()), state
    )


def test_a_product():
    options = {"size": ("s", "l"), "color": tuple(f"colour {n}" for n in range(9))}
    shop = page_shop([page_product(options=options)])
    state = START._replace(page="item", asin="A1", options={"size": "l"})
    assert layout_of(shop, state) == (
        "Find me a shirt\n\nA Title\n$5.0 · no ratings\n\n"
        "size: l\n[s]  [l ✓]\n\n"
        "color\n"
        "[colour 0]  [colour 1]  [colour 2]  [colour 3]  [colour 4]  [colour 5]  "
        "[colour 6]\n[colour 7]  [colour 8]\n\n"
        "[back to search]  [< prev]  [description]  [features]  [reviews]  [buy now]\n"
        "click[name] of what is shown · search[words]"
    )
    assert "[attributes]\n[buy now]" in layout_of(shop, state, show_attrs=True)


def test_sub_pages():
    shop = page_shop([page_product(bullets=("one", "", "word " * 20))])
    for page, text in (
        ("description", "Description:\nA description.\n"),
        (
            "features",
            f"Features:\n- one\n- {('word ' * 17).strip()}\n  word word word\n",
        ),
        ("reviews", "Reviews:\nnothing\n"),
        ("attributes", "Attributes:\n- soft\n- long sleeve\nfashion\nmen's shirts\n"),
    ):
        layout = layout_of(shop, START._replace(page=page, asin="A1"))
        assert layout.startswith(f"Find me a shirt\n\nA Title\n\n{text}")
        assert "\n[back to search]  [< prev]\n" in layout


def test_the_order():
    state = START._replace(page="done", asin="A1", options={"size": "l"}, reward=0.5)
    shop = page_shop([page_product(options={"size": ("l",)})])
    assert layout_of(shop, state) == (
        "Find me a shirt\n\nYour order\na1  A Title\n$5.0\nsize: l\n\n"
        "Your score: 0.5 of 1"
    )


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short_and_have_no_control_characters(page):
    text = "a\x1b[2Jb\rc\x07d\ud800e\u2028f " * 30
    shop = page_shop(
        [
            page_product(
                title=text,
                description=text,
                bullets=(text,),
                attributes=(text,),
                options={"\x1b[1m": ("\x1b[2J", "\r")},
            )
        ],
        instruction=text,
    )
    state = START._replace(page=page)
    if page not in ("index", "results"):
        state = state._replace(asin="A1", options={"\x1b[1m": "\r"})
    for line in layout_of(shop, state).split("\n"):
        assert line.isprintable()
        assert len(line) <= WIDTH
