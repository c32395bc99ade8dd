"""What exists: frozen dataclasses of the standard library, and nothing that reads or decides."""
