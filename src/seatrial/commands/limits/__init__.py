"""seatrial limits."""
