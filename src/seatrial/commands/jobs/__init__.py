"""seatrial jobs."""
