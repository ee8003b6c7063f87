"""Known-bad facts, one rule a file; the catalogue lists them all."""
