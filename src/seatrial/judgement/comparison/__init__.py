"""Two sets of runs compared: conditions, subjects, verdicts, and the facts that changed."""
