"""Search: rank the products of a shop for a query.

Read ``search_bar`` first, which pages use: ranked products, and lists of products by
category, query and attribute.  ``lucene_ranking`` is WebShop's ranking (its arithmetic
is `roll_vec.kernels.webshop.bm25`) and ``english_analyzer`` has the words of a text.
"""
