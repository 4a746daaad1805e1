"""Where episodes begin, and what is new."""
