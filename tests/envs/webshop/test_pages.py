"""Pages: their nodes, clickables, both observations and the layout at a terminal."""

import pytest

from roll_vec.envs.webshop.observations import as_rich_text, as_text
from roll_vec.envs.webshop.pages import page_of, resolve_link
from roll_vec.envs.webshop.state import PAGES, State, show_results
from roll_vec.envs.webshop.terminal_layout import WIDTH, lay_out
from roll_vec.render.ansi import strip_colours
from tests.envs.webshop.small_shop import page_product, page_shop

START = State(0)
HEAD = "Instruction: [SEP] Find me a shirt [SEP] Back to Search"


def text_of(shop, state, **more):
    """Return the text observation of a page."""
    return as_text(page_of(shop, state, **more).nodes)


def rich_of(shop, state, **more):
    """Return the rich observation of a page."""
    nodes = page_of(shop, state, **more).nodes
    return as_rich_text(nodes, state.options, state.opened_asins)


def on(page, asin="A1", **fields):
    """Return the state on a page of a product."""
    return START._replace(page=page, keywords="x", asin=asin, **fields)


def test_pages_beyond_the_last_one_are_there_and_empty():
    shop = page_shop([page_product(asin=f"A{n}", title=f"T {n}") for n in range(23)])
    state = show_results(START, "x")
    shown = [page_of(shop, state._replace(page_no=n)).products for n in range(1, 7)]
    assert [one.asin for page in shown for one in page] == [f"A{n}" for n in range(23)]
    beyond = page_of(shop, state._replace(page_no=6))
    assert as_text(beyond.nodes) == (
        f"{HEAD} [SEP] Page 6 (Total results: 23) [SEP] < Prev [SEP] Next >"
    )
    assert beyond.clickables == ("back to search", "< prev", "next >")
    assert text_of(page_shop([], hits=()), state) == (
        f"{HEAD} [SEP] Page 1 (Total results: 0) [SEP] Next >"
    )


def test_attributes_are_shown_on_request():
    shop = page_shop([page_product()])
    page = page_of(shop, on("item"), show_attrs=True)
    assert page.clickables[-3:] == ("reviews", "attributes", "buy now")
    assert as_text(page.nodes).endswith("Reviews [SEP] Attributes [SEP] Buy Now")
    page = page_of(shop, on("attributes"), show_attrs=True)
    assert page.clickables == ("back to search", "< prev")
    assert as_text(page.nodes) == (
        f"{HEAD} [SEP] < Prev [SEP] soft [SEP] long sleeve [SEP] fashion [SEP] "
        "men's shirts [SEP] Clothing › Shirts"
    )
    assert rich_of(shop, on("attributes"), show_attrs=True) == (
        "Instruction:\nFind me a shirt\n[button] Back to Search [button_]\n"
        "[button] < Prev [button_]\n soft\n long sleeve\nfashion\nmen's shirts\n"
        "Clothing › Shirts\n"
    )


@pytest.mark.parametrize(
    ("description", "texts"),
    [
        ("", []),
        ("\n", []),
        (" \r\n\t", []),
        ("  ", [" "]),
        ("\t\f\r", [" "]),
        ("\x0b", ["\x0b"]),
        ("\xa0", ["\xa0"]),
        (" a ", [" a "]),
        ("a & <b>", ["a & <b>"]),
    ],
)
def test_white_space(description, texts):
    shop = page_shop([page_product(description=description)])
    nodes = page_of(shop, on("description")).nodes
    assert [text for _, text in nodes[4:]] == texts
    expected = " [SEP] ".join([HEAD, "< Prev", *(text.strip() for text in texts)])
    assert text_of(shop, on("description")) == expected
    assert rich_of(shop, on("description")).endswith(
        "[button] < Prev [button_]\n" + "".join(f"{text}\n" for text in texts)
    )


def test_white_space_in_lists_titles_options_and_instructions():
    shop = page_shop([page_product(bullets=("one", "", " two ", "\n", "a\nb"))])
    assert text_of(shop, on("features")).endswith("one [SEP]  [SEP] two [SEP] a\nb")
    assert rich_of(shop, on("features")).endswith("\n one\n \n  two \n a\nb\n")
    shop = page_shop(
        [page_product(title=" ", options={"": ("", "a"), " ": ("\n",)})], instruction=""
    )
    page = page_of(shop, on("item"))
    assert as_text(page.nodes) == (
        "Instruction: [SEP] Back to Search [SEP] < Prev [SEP] a [SEP]  [SEP]  [SEP] "
        "Price: $5.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews "
        "[SEP] Buy Now"
    )
    assert page.clickables[-3:] == ("", "a", "\n")


def test_labels_are_clicked_as_the_address_has_them():
    options = {
        "size": ('5"', "größe", "back\\slash", "plain"),
        "plain": ("size", "other"),
    }
    shop = page_shop([page_product(options=options)])
    for value in ('5"', "größe", "back\\slash"):
        observation = rich_of(shop, on("item", options={"size": value}))
        # The name of the group stands in the address, the value in another form.
        assert observation.startswith("You have clicked size.\nInstruction:")
        assert f"  [button] {value} [button_]" in observation
    observation = rich_of(shop, on("item", options={"plain": "other"}))
    # The last label comes first.
    assert observation.startswith("You have clicked other.\nYou have clicked plain.\n")
    shop = page_shop([page_product(options={"a": ("x",), "b": ("x",)})])
    observation = rich_of(shop, on("item", options={"b": "x"}))
    assert observation.count("You have clicked x.\n") == 2
    assert observation.count("[clicked button] x [clicked button_]") == 2


def test_the_order():
    shop = page_shop([page_product()])
    options = {"size": "l", "color": '<r&d>\'s "é"'}
    page = page_of(shop, on("done", options=options, reward=1 / 3))
    assert page.clickables == ()
    assert as_text(page.nodes) == (
        "Thank you for shopping with us! [SEP] Your code: [SEP] None [SEP] (Paste it "
        "in your MTurk interface.) [SEP] Purchased [SEP] asin [SEP] A1 [SEP] options "
        '[SEP] {"color": "\\u003cr\\u0026d\\u003e\\u0027s \\"\\u00e9\\"", "size": "l"} '
        "[SEP] attrs [SEP] None [SEP] category [SEP] None [SEP] query [SEP] None [SEP] "
        "product category [SEP] None [SEP] Target [SEP] asin [SEP] options [SEP] attrs "
        "[SEP] price upper [SEP] instuction text [SEP] category [SEP] product category "
        "[SEP] query [SEP] Goal [SEP] None [SEP] Reward [SEP] Your score (min 0.0, max "
        "1.0) [SEP] 0.3333333333333333 [SEP] Reward Details [SEP] None"
    )


def test_links():
    shop = page_shop([page_product(asin=asin) for asin in ("A1", "a2", "Ab3")])
    page = page_of(shop, show_results(START, "x"))
    assert page.clickables[-3:] == ("a1", "a2", "ab3")
    for link, asin in (("a1", "A1"), ("a2", "a2"), ("ab3", "Ab3")):
        assert resolve_link(shop, link, lambda: page) == asin


AT_TERMINAL = State(0, keywords="red shoes")


def layout_of(shop, state, **more):
    """Return the layout of a page, without its colours."""
    layout = lay_out(shop, state, page_of(shop, state, **more))
    assert "\x1b[" in layout
    return strip_colours(layout)


def test_terminal_results():
    title = "A title of some twenty words or so that go on and on for a line or more"
    shop = page_shop([page_product(asin=f"A{n}", title=title) for n in range(12)])
    state = AT_TERMINAL._replace(page="results")
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


def test_terminal_front_page_product_and_order():
    assert layout_of(page_shop([page_product()]), AT_TERMINAL) == (
        "Find me a shirt\n\nThe shop's front page\n\nsearch[words] looks for products"
    )
    options = {"size": ("s", "l"), "color": tuple(f"colour {n}" for n in range(9))}
    shop = page_shop([page_product(options=options)])
    state = AT_TERMINAL._replace(page="item", asin="A1", options={"size": "l"})
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
    assert layout_of(shop, state._replace(page="done", reward=0.5)) == (
        "Find me a shirt\n\nYour order\na1  A Title\n$5.0\nsize: l\n\n"
        "Your score: 0.5 of 1"
    )


def test_terminal_sub_pages():
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
        layout = layout_of(shop, AT_TERMINAL._replace(page=page, asin="A1"))
        assert layout.startswith(f"Find me a shirt\n\nA Title\n\n{text}")
        assert "\n[back to search]  [< prev]\n" in layout


@pytest.mark.parametrize("page", PAGES)
def test_lines_at_a_terminal_are_short_and_have_no_control_characters(page):
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
    state = AT_TERMINAL._replace(page=page)
    if page not in ("index", "results"):
        state = state._replace(asin="A1", options={"\x1b[1m": "\r"})
    for line in layout_of(shop, state).split("\n"):
        assert line.isprintable()
        assert len(line) <= WIDTH
