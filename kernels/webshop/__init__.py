"""Kernels of WebShop's search."""
