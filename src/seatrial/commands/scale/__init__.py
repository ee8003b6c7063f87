"""seatrial bench scale."""
