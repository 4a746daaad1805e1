"""A language model as the author of milestones, and as a coach: it writes data, never code (docs/guide.md)."""
