"""The programs of docs/clients.md, each with its client; see `__main__`."""
