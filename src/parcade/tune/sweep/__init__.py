"""Sweeps: many trainings with different settings, each an ordinary run, chosen by Optuna."""
