"""The JSON Schema of what commands print: its notation, and the records in it."""
