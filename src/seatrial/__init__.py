"""seatrial: measure a cluster, judge every number, name what is at fault, prove it."""

__version__ = "0.1.0"
