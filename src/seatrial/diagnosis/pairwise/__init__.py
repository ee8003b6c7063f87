"""From a table of pairs to the nodes, directions and groups that explain it; numpy in, records out."""
