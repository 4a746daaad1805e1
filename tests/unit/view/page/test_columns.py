"""metrics.jsonl as columns, while it grows, is cut and holds nonsense."""

import csv
import json
import math

import pytest

from parcade.view.page import columns as columns_module
from parcade.view.page.columns import Columns, csv_lines


def write(path, rows, mode="w"):
    with open(path, mode) as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def test_columns_grow_with_the_file_and_have_gaps(path):
    write(path, [{"env_steps": 1, "losses": {"entropy": 2.0}, "game": {"keys": None}}])
    columns = Columns(path)
    columns.read_on()
    write(path, [{"env_steps": 2, "eval": {"mean_reward": 5}}], "a")
    columns.read_on()
    told = columns.told(0, -1)
    assert told["columns"] == {"env_steps": [1, 2], "losses/entropy": [2.0, None], "eval/mean_reward": [None, 5]}
    assert columns.told(1, told["version"])["columns"]["env_steps"] == [2]
    assert columns.told(1, told["version"] + 1)["first"] == 0


def test_half_a_row_waits_for_its_end(path):
    path.write_bytes(b'{"env_steps": 1}\n{"env_st')
    columns = Columns(path)
    columns.read_on()
    assert columns.n_rows == 1
    with open(path, "ab") as file:
        file.write(b'eps": 2}\n')
    columns.read_on()
    assert columns.columns["env_steps"].tolist() == [1, 2]


def test_a_file_that_a_resume_has_cut_is_read_anew(path):
    write(path, [{"env_steps": n} for n in range(5)])
    columns = Columns(path)
    columns.read_on()
    write(path, [{"env_steps": n} for n in range(2)])
    columns.read_on()
    assert columns.columns["env_steps"].tolist() == [0, 1]
    assert columns.told(5, 0)["first"] == 0


def test_nonsense_is_passed_over(path):
    path.write_bytes(
        b'nonsense\n[1]\n\xff\xfe\n{"env_steps": 1, "x": NaN, "y": 1e999, "z": "text", "w": true}\n' + b"[" * 100_000
    )
    columns = Columns(path)
    columns.read_on()
    assert columns.told(0, -1)["columns"] == {"env_steps": [1], "w": [1]}
    json.dumps(columns.told(0, -1), allow_nan=False)


def test_long_files_are_thinned_and_keep_evaluations(path, monkeypatch):
    monkeypatch.setattr(columns_module, "MOST_ROWS", 64)
    rows = [{"env_steps": n, **({"eval": {"mean_reward": n}} if n % 100 == 50 else {})} for n in range(1000)]
    write(path, rows)
    columns = Columns(path)
    columns.read_on()
    assert columns.n_rows <= 64
    kept = [value for value in columns.columns["eval/mean_reward"] if not math.isnan(value)]
    assert kept == [n for n in range(1000) if n % 100 == 50]
    steps = columns.columns["env_steps"].tolist()
    assert steps == sorted(steps)
    assert steps[-1] > 900


def test_csv_holds_every_row_and_no_formula(path):
    write(path, [{"env_steps": 1, "game": {'=cmd("x"),y': 2}}, {"env_steps": 2, "new": 3}])
    rows = list(csv.reader(csv_lines(path)))
    assert rows == [["env_steps", 'game/=cmd("x"),y', "new"], ["1", "2", ""], ["2", "", "3"]]


def test_a_missing_file_is_empty(path):
    columns = Columns(path)
    columns.read_on()
    assert columns.told(0, -1) == {"version": 0, "first": 0, "n_rows": 0, "columns": {}}
    assert list(csv_lines(path)) == ["\n"]
