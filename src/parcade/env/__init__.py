"""ROOM 3: console + game -> gymnasium.Env; pixels."""
