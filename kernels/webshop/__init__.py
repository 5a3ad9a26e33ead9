"""Kernels of WebShop: search."""
