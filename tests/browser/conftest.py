"""A real training, the page's real server and a real Chromium, started once for all tests of this folder."""

import shutil
from pathlib import Path

import pytest
from browser_support import FLAGS, N_GAMES, Training, Watch, opened


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep all tests of this folder in one process: they share a training, a server and a browser."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def training(home):
    running = Training(home, "--n-envs", str(N_GAMES), "--n-workers", "2", "--n-steps", "32")
    try:
        yield running.wait()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def watch(home, training):
    serving = Watch(home, "--port", "0")
    try:
        yield serving
    finally:
        serving.stop()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, watch):
    """A page whose faults and strange requests fail the test."""
    with opened(chromium, watch.url) as found:
        yield found
