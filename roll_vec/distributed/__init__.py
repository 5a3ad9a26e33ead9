"""One vector environment over many processes or machines; needs the extra ``ray``."""
