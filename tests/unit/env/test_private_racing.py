"""What Gymnasium keeps private of CarRacing may be gone in its next release: the fast env says so when it is made."""

import pytest

pytest.importorskip("Box2D", reason="Box2D is not installed: pip install parcade[racing]")

from gymnasium.envs.box2d.car_racing import CarRacing, FrictionDetector

from parcade.env.racing.env import FastCarRacing, check_car_racing
from parcade.errors import EnvError


@pytest.fixture(autouse=True)
def probed_anew():
    check_car_racing.cache_clear()
    yield
    check_car_racing.cache_clear()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (CarRacing, "_create_track"),
        (CarRacing, "_reinit_colors"),
        (CarRacing, "_destroy"),
        (FrictionDetector, "_contact"),
    ],
)
def test_without_one_of_its_functions_the_env_is_refused(kind, name, monkeypatch):
    monkeypatch.delattr(kind, name)
    expected = (
        rf"^Gymnasium [\d.]+ has no {kind.__name__}\.{name}, which the fast CarRacing needs; install gymnasium 1\.4$"
    )
    with pytest.raises(EnvError, match=expected):
        FastCarRacing()


def test_this_gymnasium_has_them_all():
    check_car_racing()
    FastCarRacing().close()
