"""How plug-ins are found."""
