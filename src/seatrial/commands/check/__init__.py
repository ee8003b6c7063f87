"""seatrial check."""
