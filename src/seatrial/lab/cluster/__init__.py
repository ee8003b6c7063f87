"""A virtual cluster: plan, network, hosts, daemons."""
