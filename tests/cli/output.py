"""Parts of the command line's output."""

import re


def table_of(out):
    """Return the rows of the printed table as a dict."""
    return dict(re.findall(r"│ (.+?) +│ +(.+?) │", out))
