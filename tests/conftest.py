"""How the tests share a machine: `make test` runs them in several processes at once."""

import inspect
import os
import signal
from importlib.util import find_spec
from pathlib import Path

# Before torch, as `parcade` itself does: OpenMP threads that wait by spinning take the core of another process's tests.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts `make test &`; no test of Ctrl-C could pass
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SHARED = ("module", "package", "class")
_ONE_AT_A_TIME = "tests/cluster/"  # two Ray clusters on two cores wait for each other's processes
_GBA_WORDS = ("meadow", "emerald", "gba")
_NO_GBA = "Game Boy Advance: mGBA's Python package exists for Python 3.10 and 3.11 only"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep tests that share a fixture, or a kind of load, in one process; all others go to whichever is free."""
    has_mgba = find_spec("mgba") is not None
    for item in items:
        if not has_mgba and plays_gba(item):
            item.add_marker(pytest.mark.skip(reason=_NO_GBA))
        fixtures = [made for found in item._fixtureinfo.name2fixturedefs.values() for made in found]
        file = item.nodeid.partition("::")[0]
        if file.startswith(_ONE_AT_A_TIME):
            item.add_marker(pytest.mark.xdist_group(_ONE_AT_A_TIME))
        elif any(fixture.scope in _SHARED for fixture in fixtures):
            item.add_marker(pytest.mark.xdist_group(file))


def plays_gba(item):
    """Whether a test or its parameters name a Game Boy Advance game."""
    text = f"{item.nodeid} {inspect.getsource(item.function)}".lower()
    return any(word in text for word in _GBA_WORDS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip, with words, a test that turns out to need mGBA where no Python package of it exists."""
    try:
        return (yield)
    except Exception as error:
        if find_spec("mgba") is None and "mGBA cannot be loaded" in str(error):
            pytest.skip(_NO_GBA)
        raise


def pytest_configure(config):
    """Name a failed test at once: who runs all of them waits minutes for the summary."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_TellsAtOnce(config), "tells-at-once")


class _TellsAtOnce:
    def __init__(self, config):
        self._config = config

    def pytest_runtest_logreport(self, report):
        if report.failed:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            why = getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
            terminal.write_line(f"\nFAILED {report.nodeid}: {' '.join(why.split())[:300]}", red=True)


def pytest_terminal_summary(terminalreporter):
    """Leave the names of failed tests for `tools/run_tests.py`, without the process group that xdist adds to them."""
    place = os.environ.get("PARCADE_FAILED_TESTS")
    if place is None or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    reports = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    names = {_without_group(report.nodeid) for report in reports if hasattr(report, "nodeid")}
    Path(place).write_text("".join(f"{name}\n" for name in sorted(names)))


def _without_group(name):
    file = name.partition("::")[0]
    return name.removesuffix(f"@{_ONE_AT_A_TIME}").removesuffix(f"@{file}")
