"""seatrial import."""
