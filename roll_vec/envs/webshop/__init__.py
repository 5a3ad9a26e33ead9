"""WebShop: search, browse and buy in a simulated shop, by text.

Imports between the files go one way.  From the lowest layer to the highest, which is
also an order to read them in:

1. ``files``: the reader of WebShop's files;
2. ``products``, ``goals``: the records of a shop;
3. ``state``: actions, the page of a session, its buttons; ``reward``, ``search``;
4. ``storage``: the contents of a catalogue, and its file;
5. ``solver``: the best purchase for a goal, and the way to it; ``options``;
6. ``catalogue``: all of this for one shop;
7. ``pages``: the nodes of a page, observations;
8. ``env``, the environment.
"""

from roll_vec.envs.webshop.catalogue import Catalogue
from roll_vec.envs.webshop.env import WebShop
from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.products import Product

__all__ = ["Catalogue", "Goal", "Product", "WebShop"]
