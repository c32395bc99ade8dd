"""Recordings that other tools made. One file per form, recognised by content, never by a file's name alone."""
