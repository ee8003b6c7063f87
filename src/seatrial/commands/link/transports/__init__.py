"""seatrial link --transports."""
