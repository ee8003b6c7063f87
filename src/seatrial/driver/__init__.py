"""A run in progress: settings, measuring, interruption, closing, detached jobs."""
