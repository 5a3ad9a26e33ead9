"""Environments in the shapes that other frameworks expect, one file each."""
