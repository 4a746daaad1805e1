"""One training in several processes: each learner holds shards, with a pool of its own; the trainer holds none."""
