"""seatrial saturate."""
