"""Every command: one folder with its driver (run), its judgement (judge) and its output (text, html, json)."""
