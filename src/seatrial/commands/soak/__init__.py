"""seatrial soak."""
