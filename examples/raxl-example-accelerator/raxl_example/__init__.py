"""Example accelerators for raxl."""
