"""Fuzzing: files and settings made wrong by chance from a seed, and what the commands say of them."""
