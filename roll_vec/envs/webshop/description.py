"""The rewards, ends, infos and sources of WebShop."""

from __future__ import annotations

from roll_vec.envs.game_description import (
    TEXT_GAME_INFOS,
    GameDescription,
    Reward,
    parse_infos,
    parse_sources,
)
from roll_vec.envs.webshop.options import WebShopOptions

_INFOS = parse_infos("""
goal | int64 | reset | The number of the goal in the shop.
available_actions | dict | reset, step | ``has_search_bar``, bool, and ``clickables``,
   a list of str.
title_nouns | str | reset | The source of the title nouns: ``file``, ``rule`` or
   ``embedded``.
action_is_valid | bool | step | A search, or a click on a name of the page.
action_is_effective | bool | step | The observation has changed.
success | bool | step | The order earned 1.
purchased | dict | end | ``asin``, ``options`` and ``price`` of the order.
reward_terms | dict | end | The terms of the reward.
""")
_SOURCES = parse_sources("""
WebShop | commit 64fa2a5 | https://github.com/princeton-nlp/WebShop
   | with WebShop's files: goals, pages, available actions, rewards, the order of search
   results
ROLL, WebShop | commit 35bea6a2 | https://github.com/alibaba/ROLL
   | the goal of a seed, texts with ``observation_format='roll'``
""")


def describe(options: WebShopOptions) -> GameDescription:
    """Return the description of WebShop with these options."""
    del options  # they change none of this
    return GameDescription(
        actions="``search[words]`` on any page, or ``click[name]`` of a name on the "
        "page.  An invalid action leaves the page as it is.",
        rewards=(
            Reward(
                "0 to 1",
                "The order: the share of attributes, options and price limit that it "
                "meets, times a factor for the kind of product.",
            ),
            Reward(0.0, "All other steps."),
        ),
        terminated=("The order, ``click[buy now]``: success if its reward is 1.",),
        infos=(*_INFOS, *TEXT_GAME_INFOS),
        sources=_SOURCES,
        differences=(
            "Random prices and price limits come from ``catalog_seed``; the original "
            "has no seed for them.",
            "Without files the shop is a demo shop of this package.",
        ),
        page="docs/games/webshop.md",
    )
