"""seatrial history: a metric over the runs of an archive, where it changed, and which facts changed then."""
