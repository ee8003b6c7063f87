"""Other tools' output as our records."""
