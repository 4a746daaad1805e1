"""`parcade bench racing`: the keys, and a clear sentence where Box2D is missing."""

import json
import sys

import pytest

from parcade.cli.main import main


def test_racing_tells_all_keys(capsys):
    pytest.importorskip("Box2D", reason="Box2D is not installed (extra racing)")
    pytest.importorskip("pygame", reason="pygame is not installed (extra racing)")
    assert main(["bench", "racing", "--seconds", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["bench"] == "racing"
    assert result["fast_steps_per_s"] > 0
    assert result["official_steps_per_s"] > 0
    assert result["over_official"] > 0
    assert "envpool_steps_per_s" in result
    assert "over_envpool" in result


def test_missing_box2d_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    assert main(["bench", "racing"]) == 2
    told = capsys.readouterr().err
    assert "needs Box2D" in told
    assert "parcade[racing]" in told
