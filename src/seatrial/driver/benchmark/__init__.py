"""A benchmark on the nodes: where it runs, its folder, its programs, and runs that belong together."""
