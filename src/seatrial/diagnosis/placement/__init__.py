"""Where ranks are and where they should be; pure."""
