"""What other tools print, one file each, as our own records."""
