"""seatrial judge."""
