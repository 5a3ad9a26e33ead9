"""The demo shop: generated products and instructions, for WebShop without any files.

Read ``products`` first (a product from its number), then ``instructions`` (requests
for it), then ``vocabulary`` (the words of both, in the ``.ini`` files of this folder).
"""
