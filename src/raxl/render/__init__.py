"""Results as text: pure functions from the model to lines. Nothing is read here, and nothing decided."""
