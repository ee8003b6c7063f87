"""seatrial parse."""
