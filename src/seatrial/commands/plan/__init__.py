"""seatrial compare --plan: how many runs, nodes and node-hours a claim needs, from the variance of earlier runs."""
