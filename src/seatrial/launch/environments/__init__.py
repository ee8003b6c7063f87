"""Software environments that a launch is wrapped in: one file for each kind, all pure."""
