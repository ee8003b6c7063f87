"""The only writer of results; queries across runs."""
