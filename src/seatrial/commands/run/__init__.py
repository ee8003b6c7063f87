"""seatrial run."""
