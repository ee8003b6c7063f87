"""seatrial scale."""
