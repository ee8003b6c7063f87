"""Judgement of what each node does by itself."""
