"""The contract every game keeps, as tests to run on a game of your own.

pytest -p parcade.testing.plugin --pyargs parcade.testing --parcade-game my_game:MyGame --parcade-rom rom.gb
"""
