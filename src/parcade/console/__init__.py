"""ROOM 1: buttons in, picture and memory out."""
