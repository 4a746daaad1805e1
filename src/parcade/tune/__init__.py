"""Measures: speed against the machine's limit and against peers, soundness under fire."""
