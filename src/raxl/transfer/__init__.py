"""What runs at the two ends of a transfer, and how the ends are reached."""
