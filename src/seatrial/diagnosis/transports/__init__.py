"""Which transport carries the messages, proved by taking it away."""
