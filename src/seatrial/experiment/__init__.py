"""Subjects measured again beside controls: in which order, compared how, and what decides."""
