"""From recordings to one inventory: reading them, merging what they say, and saying what is not known."""
