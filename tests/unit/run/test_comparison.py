"""Runs form groups by their settings; the settings that differ are named; a page holds everything."""

import json
import re

import numpy as np
import pytest

from parcade.errors import SettingsError
from parcade.run.compare_page import write_page
from parcade.run.comparison import compare


def made_run(root, name, score, *, evaluated=True, **settings):
    folder = root / "lantern" / name
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"game": "lantern", "seed": 0, **settings}))
    (folder / "manifest.json").write_text('{"started": "2026-11-18T12:00:00+01:00"}')
    rows = [
        {"env_steps": 100 * i, "return_mean": score * i / 10, "time": {"seconds": i / 2}, "losses": {"entropy": 1 / i}}
        for i in range(1, 11)
    ]
    if evaluated:
        rows.append({"env_steps": 1000, "final": True, "eval": {"mean_reward": score + 0.5}})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def runs(tmp_path):
    made = [made_run(tmp_path, f"a{seed}", 4.0 + seed, seed=seed, learning_rate=1e-3) for seed in range(3)]
    made += [
        made_run(tmp_path, f"b{seed}", 8.0 + seed, seed=seed, learning_rate=1e-4, n_workers=2) for seed in range(2)
    ]
    return made


def test_seeds_form_groups_and_differences_name_them(runs):
    found = compare(runs)
    first, second = found.groups
    assert found.metric == "eval/mean_reward"
    assert (first.label, second.label) == ("learning_rate=0.001", "learning_rate=0.0001")
    assert found.differences == {"learning_rate": [0.001, 0.0001]}  # the workers and the seed are no difference
    assert first.scores.tolist() == [4.5, 5.5, 6.5]
    assert first.score.value == 5.5
    assert first.env_steps == 1000
    assert found.improvements[0] == (1.0, 1.0, 1.0)
    told = found.to_dict()
    assert told["groups"][1]["seeds"] == [0, 1]
    assert told["improvement"] == [
        {"of": "learning_rate=0.0001", "over": "learning_rate=0.001", "value": 1.0, "low": 1.0, "high": 1.0}
    ]
    json.dumps(told)


def test_curves_of_a_group_meet_on_one_grid(runs):
    xs, middle, low, high = compare(runs).groups[0].curve("rollout/ep_rew_mean")
    assert xs[0] == 100
    assert xs[-1] == 1000
    assert middle[-1] == pytest.approx(5.0)
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert compare(runs).groups[0].curve("train/none") is None


def test_without_evaluations_the_training_counts(tmp_path):
    found = compare([made_run(tmp_path, "a", 4.0, evaluated=False), made_run(tmp_path, "b", 5.0)])
    assert found.metric == "rollout/ep_rew_mean"
    assert len(found.groups) == 1
    assert found.groups[0].label == "lantern"
    assert np.array_equal(found.groups[0].scores, [4.0, 5.0])


def test_many_differences_become_letters(tmp_path):
    more = {"gamma": 0.9, "n_epochs": 2, "n_steps": 8, "ent_coef": 0.1}
    found = compare([made_run(tmp_path, "a", 4.0), made_run(tmp_path, "b", 5.0, **more)])
    assert [group.label for group in found.groups] == ["A lantern", "B lantern"]
    assert found.differences["gamma"] == [None, 0.9]


def test_what_cannot_be_compared_is_named(runs, tmp_path):
    with pytest.raises(SettingsError, match=r"no run has the metric 'eval/mean_rewards' \(did you mean"):
        compare(runs, "eval/mean_rewards")
    other = made_run(tmp_path, "c", 1.0, evaluated=False)
    with pytest.raises(SettingsError, match="no run has the metric 'eval/mean_reward'"):
        compare([other], "eval/mean_reward")
    found = compare([*runs, other], "eval/mean_reward")
    assert found.left_out == (other,)
    assert found.to_dict()["groups"] == compare(runs, "eval/mean_reward").to_dict()["groups"]
    (other / "metrics.jsonl").write_text("")
    found = compare([*runs, other])
    assert (found.metric, found.left_out) == ("eval/mean_reward", (other,))
    with pytest.raises(SettingsError, match=r"no run has rows in metrics\.jsonl yet, not even"):
        compare([other])


def test_the_page_stands_alone(runs, tmp_path):
    (runs[0] / "report.html").write_text("x")
    page = tmp_path / "compare <1>.html"
    write_page(page, compare(runs))
    text = page.read_text()
    assert "5 runs in 2 groups" in text
    assert text.count('class="mean"') >= 4
    assert "learning_rate=0.001</text>" in text
    assert ">5.5 (4.5 to 6.5)</text>" in text
    assert 'href="lantern/a0/report.html"' in text
    assert "NaN" not in text
    assert "nan" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    assert "<script" not in text
