"""seatrial facts."""
