"""seatrial link --ranks-per-node."""
