"""What all reports share: text, JSON, pages, escaping."""
