"""seatrial bench."""
