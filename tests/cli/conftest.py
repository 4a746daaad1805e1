"""Every verb is loaded before the first test.

`parcade` imports a verb's module when it is called. While somebody edits the tree, a test in the middle of a run would
find a verb that does not fit what was loaded before: once all eight tests of `record` failed so.
"""

from importlib import import_module

from parcade.cli.main import VERBS

for verb in VERBS:
    import_module(f"parcade.cli.{verb}")
