"""Facts become findings."""
