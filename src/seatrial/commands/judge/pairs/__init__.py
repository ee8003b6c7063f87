"""Tables of pairs of nodes."""
