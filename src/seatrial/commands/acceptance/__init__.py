"""seatrial bench accept."""
