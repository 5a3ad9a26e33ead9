"""Adapters to the interfaces of other frameworks, one file for each."""
