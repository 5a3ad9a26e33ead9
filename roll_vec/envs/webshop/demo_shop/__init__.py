"""The demo shop: generated products and instructions, for WebShop without any files.

Read ``products`` first (a product from its number, with requests for it), then
``vocabulary`` (its words, in the ``.ini`` files of this folder).
"""
