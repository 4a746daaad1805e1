"""The live page: a server of its own process that reads runs and running trainings, and a page that shows them."""
