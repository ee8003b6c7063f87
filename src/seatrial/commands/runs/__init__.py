"""seatrial runs: the list of an archive, and one run of it."""
