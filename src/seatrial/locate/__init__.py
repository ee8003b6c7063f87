"""Which nodes, uplinks, cables and pairs explain a table of pairs; arrays in, records out."""
