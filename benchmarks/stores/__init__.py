"""Size and speed of stored runs, and of the page that shows them."""
