"""seatrial bench run."""
