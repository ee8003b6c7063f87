"""seatrial site: an archive as pages that link to each other."""
