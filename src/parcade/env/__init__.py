"""ROOM 3: console + game -> gymnasium.Env; preprocessing of any other."""
