"""WebShop: search, browse and buy in a simulated shop, by text."""

from roll_vec.webshop.catalogue import Catalogue
from roll_vec.webshop.env import WebShop
from roll_vec.webshop.options import WebShopOptions
from roll_vec.webshop.products import Goal, Product, Purchase
from roll_vec.webshop.reward import RewardTerms

__all__ = [
    "Catalogue",
    "Goal",
    "Product",
    "Purchase",
    "RewardTerms",
    "WebShop",
    "WebShopOptions",
]
