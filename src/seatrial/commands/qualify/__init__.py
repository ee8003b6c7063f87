"""The command qualify: idle time spent on what is least known."""
