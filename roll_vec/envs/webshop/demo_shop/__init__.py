"""The demo shop: products, instructions and words that need no file."""
