"""seatrial benchmarks."""
