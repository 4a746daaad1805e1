"""ROOM 7: windows and pages that show a run; they read only."""
