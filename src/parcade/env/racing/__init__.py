"""CarRacing, the official game drawn quickly: its car, its picture (`view`, `panel`), the env and its `variants`.

Nothing is imported here: `env` needs Box2D, `variants` is asked without it.
"""
