"""seatrial transports."""
