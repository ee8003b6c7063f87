"""seatrial nodes."""
