"""seatrial placement."""
