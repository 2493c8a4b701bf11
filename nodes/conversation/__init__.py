"""Steps of any conversation: turns are taken and recorded, and a person in a seat is asked."""
