"""The process around a command: streams, signals, memory, and how errors become sentences and exit codes."""
