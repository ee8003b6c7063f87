"""seatrial link --rails."""
