"""One file per command; the only room that prints and exits."""
