"""ROOM 2: what memory means; reward; end. ``titles()`` knows every title by name."""
