"""The pictures of docs/gallery.md, each drawn by the command of the page."""
