"""WebShop: search, browse and buy in a simulated shop, by text."""

from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.catalogue.products import Goal, Product, Purchase
from roll_vec.envs.webshop.env import WebShop
from roll_vec.envs.webshop.options import WebShopOptions
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
