"""Observations: a page as WebShop's text, or as its rich text with marked buttons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.pages import BUTTON, LINK, TEXT, Node


def as_text(nodes: Sequence[Node]) -> str:
    """Return the observation of WebShop's mode ``text``."""
    return " [SEP] ".join([text.strip() for _, text in nodes])


def as_rich_text(
    nodes: Sequence[Node],
    options: Mapping[str, str],
    opened_asins: frozenset[str],
) -> str:
    """Return the observation of WebShop's mode ``text_rich``.

    Parameters
    ----------
    nodes : sequence of Node
    options : mapping from str to str
        The chosen values.  As in WebShop a label is marked as clicked if it stands in
        quotes in the JSON of the options: so is the name of a group, but not a value
        with a quote or a character outside ASCII.
    opened_asins : frozenset of str
        Products that are marked as clicked.
    """
    options_json = json.dumps(dict(options)) if options else ""
    click_reports: list[str] = []
    lines: list[str] = []
    for kind, text in nodes:
        if kind == TEXT:
            line = text
        elif kind == BUTTON:
            line = f"[button] {text} [button_]"
        elif kind == LINK:
            mark = "clicked button" if text in opened_asins else "button"
            line = f"\n[{mark}] {text} [{mark}_]"
        elif f'"{text}"' in options_json:
            line = f"  [clicked button] {text} [clicked button_]"
            click_reports.append(f"You have clicked {text}.\n")
        else:
            line = f"  [button] {text} [button_]"
        lines.append(line)
    return "".join(reversed(click_reports)) + "\n".join(lines) + "\n"


def max_observation_length(catalogue: Catalogue) -> int:
    """Return an upper bound of the length of any observation.

    A product is a line of JSON, where a text has at least 4 more characters.  On a
    product's page a label of n characters takes at most 2 n + 60 as a clicked option,
    and n + 9 more in the list of available actions: less than 16 (n + 4).  A page of
    results has title, price and a link of each of its 10 products.  The JSON of an
    order has at most 6 characters for one.  The rest is the instruction and less than
    2048 characters of headings.
    """
    return 2048 + catalogue.goals.max_length + 16 * catalogue.products.max_length
