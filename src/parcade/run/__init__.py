"""ROOM 6: what stays on disk."""
