"""ROOM 4: many envs in workers over one block."""
