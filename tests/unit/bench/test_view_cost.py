"""The bench of the live page: all three states are measured, and the client really gets pictures."""

import pytest

from parcade.bench.view_cost import STATES, bench_view
from parcade.bench.view_soak import soak_view
from parcade.errors import SettingsError


@pytest.mark.long
def test_a_short_bench_measures_all_states():
    result = bench_view(rounds=1, seconds=0.3, n_envs=4, say=lambda text: None, n_workers=1, n_steps=16, batch_size=64)
    assert set(result["steps_per_s"]) == set(STATES)
    assert all(rate > 0 for rate in result["steps_per_s"].values())
    assert result["client_messages_per_s"] > 0
    assert -5 < result["no_client_loss"] < 1
    assert -5 < result["one_client_loss"] < 1


@pytest.mark.long
def test_a_short_soak_looks_at_the_server():
    result = soak_view(minutes=0.1, n_envs=4, say=lambda text: None, n_workers=1, n_steps=16, batch_size=64)
    assert 0 < result["server_cores"] < 2
    assert 10 < result["server_mb_start"] < 1000
    assert 10 < result["server_mb_end"] < 1000
    assert result["soak_visits"] > 0
    assert result["soak_pictures_per_s"] > 0


def test_a_soak_of_no_time_is_refused():
    with pytest.raises(SettingsError, match="--soak-minutes 0 and --soak-envs 4 must be above 0"):
        soak_view(minutes=0, n_envs=4)
