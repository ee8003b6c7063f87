"""Which pairs are measured, in which rounds, and which next."""
