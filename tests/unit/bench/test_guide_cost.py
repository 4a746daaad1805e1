"""The bench of guides: both trainings are measured, and only one of them has a guide."""

import pytest

from parcade.bench.guide_cost import WITH, WITHOUT, bench_guide
from parcade.cli.bench_guide import show
from parcade.errors import SettingsError

SHORT = {"rounds": 1, "seconds": 0.2, "n_envs": 2, "n_workers": 0, "n_steps": 16, "batch_size": 16}


@pytest.mark.long
def test_a_short_bench_measures_both():
    said = []
    result = bench_guide(say=said.append, **SHORT)
    assert list(result["steps_per_s"]) == [WITHOUT, WITH]
    assert result["milestones"] == 5
    assert 0 < result["of_without"] < 10
    assert len(said) == 2
    assert show(result)[0].row_count == 2


def test_a_guide_for_another_game_is_refused():
    with pytest.raises(SettingsError, match="the guide cannot be used for meadow"):
        bench_guide(say=print, game="meadow", **SHORT)
