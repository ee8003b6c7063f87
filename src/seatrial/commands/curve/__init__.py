"""seatrial curve."""
