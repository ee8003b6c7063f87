"""seatrial fleet."""
