"""seatrial compare: what changed between two sets of runs, how much, how certain, and which facts changed with it."""
