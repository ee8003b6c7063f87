"""The command status: how the nodes of an archive are, in ten lines."""
