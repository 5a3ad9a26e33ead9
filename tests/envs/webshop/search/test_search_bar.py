"""Results of queries: lists by category, query and attribute, random products."""

import pytest

from roll_vec.envs.webshop.observations import as_text
from roll_vec.envs.webshop.pages import page_of
from roll_vec.envs.webshop.state import State
from tests.envs.webshop.small_shop import page_product, page_shop

MANY = page_shop(
    [
        page_product(
            asin=f"A{n}",
            category=("fashion", "garden")[n % 2],
            query=("men's shirts", "tables")[n % 2],
            attributes=("soft", "easy care")[n % 2 :],
        )
        for n in range(120)
    ],
    hits=(3, 1),
)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("shirts", (3, 1)),
        ("<x> shirts", (3, 1)),
        ("<c>garden", (3, 1)),
        ("<c> garden", tuple(range(1, 120, 2))),
        ("<c> garden and more", tuple(range(1, 120, 2))),
        ("<c>  garden", ()),
        ("<c> gardens", ()),
        ("<c>", ()),
        ("<q> men's shirts", tuple(range(0, 120, 2))),
        ("<q>  men's shirts ", tuple(range(0, 120, 2))),
        ("<q> men's", ()),
        ("<q>", ()),
        ("<a> soft", tuple(range(0, 120, 2))),
        ("<a>  easy care ", tuple(range(120))),
        ("<a> hard", ()),
        ("<a>", ()),
    ],
)
def test_searches_of_a_kind(query, numbers):
    assert tuple(MANY.search_results(query)) == numbers
    observation = as_text(page_of(MANY, State(0, "results", query)).nodes)
    assert f"Page 1 (Total results: {len(numbers)})" in observation


def test_products_drawn_at_random():
    numbers = MANY.search_results("<r>", 7)
    assert len(numbers) == len(set(numbers)) == 50
    assert MANY.search_results("<r>", 7) == numbers
    assert MANY.search_results("<r>", 8) != numbers
    assert MANY.search_results("<r> again", 7) != numbers
    assert MANY.search_results("<r> \ud800", 7) != numbers
    # Pinned: new draws would be a new version of the id.
    assert numbers[:5] == [51, 90, 73, 50, 118]
    few = page_shop([page_product(asin=f"A{n}") for n in range(3)])
    assert sorted(few.search_results("<r>")) == [0, 1, 2]
    # The pages of one search show one draw.
    pages = [
        page_of(MANY, State(0, "results", "<r>", number), level=7).products
        for number in range(1, 7)
    ]
    on_pages = [MANY.products.number_of(one.asin) for page in pages for one in page]
    assert on_pages == numbers
