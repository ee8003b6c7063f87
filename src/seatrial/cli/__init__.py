"""One file per command; the only package that prints results."""
