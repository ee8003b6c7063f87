"""seatrial locate."""
