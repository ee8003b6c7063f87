"""seatrial acceptance."""
