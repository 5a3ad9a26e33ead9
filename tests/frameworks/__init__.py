"""The pages of docs/frameworks, each beside its framework; see `__main__`."""
