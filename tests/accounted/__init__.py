"""Jobs of several users on a lab with slurmdbd, and what `seatrial jobs` says of them."""
