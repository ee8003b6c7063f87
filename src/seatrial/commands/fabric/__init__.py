"""seatrial fabric."""
