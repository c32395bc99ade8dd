"""An example transport for raxl."""
