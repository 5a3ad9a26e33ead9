"""Search backends of WebShop: Lucene's ranking, tantivy, one's own."""
