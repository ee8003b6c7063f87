"""seatrial curve --rails."""
