"""A shop's catalogue: read from files, built, stored in a folder, opened."""
