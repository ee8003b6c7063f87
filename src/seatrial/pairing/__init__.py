"""Which pairs to measure, in which rounds; pure and seeded."""
