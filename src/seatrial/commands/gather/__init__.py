"""seatrial gather."""
