"""Vendor-neutral facts, one file per area of the kernel. Each asks a host in one function and parses in another."""
