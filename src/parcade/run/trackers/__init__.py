"""Trackers: where the numbers, settings, videos and models of a run go besides its own folder."""
