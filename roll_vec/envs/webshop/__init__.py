"""WebShop: search, browse and buy in a simulated shop, by text.

Imports between the files go one way.  From the lowest layer to the highest, which is
also an order to read them in:

1. ``manifest``, ``records``: stored files and their checksums;
2. ``products``, ``goals``: the records of a shop; ``actions``: the parser;
3. ``state``: the page of a session, its buttons; ``reward``, ``search``, ``demo_shop``;
4. ``solver``: the best purchase for a goal;
5. ``catalogue``: all of this for one shop, built from files or opened from a folder;
6. ``pages``: the nodes of a page; then ``observations``, ``terminal_layout``;
7. ``options``, ``oracle`` and ``env``, the environment.
"""

from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.env import WebShop
from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.envs.webshop.products import Product, Purchase
from roll_vec.envs.webshop.reward import RewardTerms

__all__ = [
    "Catalogue",
    "Goal",
    "Product",
    "Purchase",
    "RewardTerms",
    "WebShop",
    "WebShopOptions",
]
