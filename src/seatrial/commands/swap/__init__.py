"""seatrial swap."""
