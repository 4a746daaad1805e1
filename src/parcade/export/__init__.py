"""Trained policies as files of other programs: ONNX, TorchScript and Stable-Baselines3."""
