"""Physics: what links, devices, memory and processors permit."""
