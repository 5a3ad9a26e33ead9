"""Search: rank the products of a shop for a query.

Read ``backends`` first (the protocol of an index), then ``lucene`` (WebShop's ranking;
its arithmetic stands in `roll_vec.kernels.webshop.bm25`), ``english_analyzer`` (the
words of a text) and ``tantivy`` (a second backend for a million products).
``product_search`` is what pages use: an index and lists of products by category, query
and attribute.
"""
