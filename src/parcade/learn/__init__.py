"""ROOM 5: rollout -> gradient. Tensors in, tensors out; arrays are always (T, N, ...)."""
