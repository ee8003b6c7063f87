"""Values of many nodes."""
