"""What people agree on in talk: times and places as they are said, proposals, and assent."""
