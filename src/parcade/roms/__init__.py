"""Parcade's own built games, as package data; their sources are in /roms of the repository."""
