"""Clusters for the tests here; every test fails if it leaves something behind."""

import os
import time

import pytest
from ray_nodes import RayNodes, left_behind

os.environ["RAY_AUTH_MODE"] = "disabled"  # whether this account has a token or not


@pytest.fixture(autouse=True)
def nothing_left():
    before = left_behind()
    yield
    deadline = time.monotonic() + 60  # a trainer that another test killed leaves files too, until a pool sweeps them
    while left_behind() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left_behind() - before


@pytest.fixture
def start_nodes():
    """Start clusters that end with the test."""
    made = []

    def start(*cores):
        made.append(RayNodes(*cores))
        return made[-1]

    yield start
    for nodes in made:
        nodes.close()


@pytest.fixture(scope="session")
def two_nodes():
    nodes = RayNodes(2, 2)
    yield nodes
    nodes.close()
