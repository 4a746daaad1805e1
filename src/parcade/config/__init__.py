"""Settings: what a training does, from flags, files and Python alike."""
