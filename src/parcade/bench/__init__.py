"""Every bench: speed against the machine's limit and against peers, learning, soundness when workers die."""
