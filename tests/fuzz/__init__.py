"""Random inputs for every reader of text from outside: `python -m tests.fuzz --inputs 100000 --seed 1`."""
