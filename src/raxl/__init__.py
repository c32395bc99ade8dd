"""raxl: what accelerators are here, how they are joined, and what could not be known."""

__all__ = ["__version__"]

__version__ = "0.1.0"
