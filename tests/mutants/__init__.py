"""Bugs that are planted one by one, to see that the tests catch them."""
