"""Steps of an album chat: who meets whom, and what is asked about which picture."""
