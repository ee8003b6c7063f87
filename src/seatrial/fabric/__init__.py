"""Switches, cables, routes and forwarding tables."""
