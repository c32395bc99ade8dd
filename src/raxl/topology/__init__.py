"""Questions about the model. Pure: nothing here reads a machine."""
