"""seatrial doctor."""
