"""What fits: games, workers and threads for a machine; settings for a game (sweeps)."""
