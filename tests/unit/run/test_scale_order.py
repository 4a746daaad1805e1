"""The two small files between `parcade scale` and a training."""

import pytest

from parcade.run.scale_order import ORDER, ScaleAnswer, answer, ask, new_order, read_answer, take_order, withdraw


def test_an_order_is_taken_once_and_answered(tmp_path):
    order = new_order(3)
    ask(tmp_path, order)
    assert take_order(tmp_path) == order
    assert take_order(tmp_path) is None
    assert read_answer(tmp_path, order) is None
    told = ScaleAnswer(order.number, True, "1 -> 3 workers", 3, 0.5)
    answer(tmp_path, told)
    assert read_answer(tmp_path, order) == told
    assert read_answer(tmp_path, new_order(3)) is None  # an answer to somebody else


def test_an_order_can_be_taken_back(tmp_path):
    ask(tmp_path, new_order("auto"))
    withdraw(tmp_path)
    withdraw(tmp_path)
    assert take_order(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"number": "a", "n_workers": -1}', '{"number": "a", "n_workers": true}', '{"n_workers": 1}'),
        *('{"number": "a", "n_workers": 1e9}', '{"number": "a", "n_workers": "many"}', "x" * 5000),
    ],
)
def test_what_is_no_order_is_removed_and_ignored(tmp_path, text):
    (tmp_path / ORDER).write_text(text)
    assert take_order(tmp_path) is None
    assert not (tmp_path / ORDER).exists()
