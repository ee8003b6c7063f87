"""seatrial nodes --for."""
