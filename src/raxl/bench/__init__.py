"""Plans, analyses and judges what `raxl bench-transport` measures."""
