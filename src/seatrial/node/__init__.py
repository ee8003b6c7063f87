"""What one node is: from the stream of its facts to records."""
