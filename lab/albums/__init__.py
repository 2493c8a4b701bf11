"""Two album chats beside each other."""
