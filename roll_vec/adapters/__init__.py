"""Adapters to the interfaces of other frameworks, a file or folder for each."""
