"""seatrial baseline: runs under a name, with which later runs are compared."""
