"""Messages of programs that failed to start: what they mean and what to do."""
