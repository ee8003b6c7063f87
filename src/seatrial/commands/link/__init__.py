"""seatrial link: one room for each kind of measurement of a pair."""
