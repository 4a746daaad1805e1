"""The report is read back as a browser reads it: parsed, never searched as text where structure counts."""

from __future__ import annotations

import base64
import math
import re
from html.parser import HTMLParser

import cv2
import numpy as np
import pytest

from parcade.run.curves import MAX_POINTS, short
from parcade.run.report import write_report

VOID = {"meta", "img", "link", "br"}


class Page(HTMLParser):
    """Every element with its attributes and text; fails on a tag that is never closed."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.open = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "text": ""}
        self._add(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self._add({"tag": tag, "attrs": dict(attrs), "text": ""})

    def _add(self, element):
        """Note an element that a wide screen shows."""
        if not any(e["attrs"].get("class") == "narrow" for e in (*self.open, element)):
            self.elements.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, kind=None):
        found = [e for e in self.elements if e["tag"] == tag]
        return [e for e in found if kind is None or kind in e["attrs"].get("class", "").split()]

    def texts(self, tag, kind=None):
        return [e["text"] for e in self.all(tag, kind)]

    def charts(self):
        return [e["attrs"]["aria-label"].removesuffix(" over env steps") for e in self.all("svg")]


def row(update, **changes):
    return {
        "update": update,
        "env_steps": update * 4096,
        "return_mean": 0.1 * update,
        "length_mean": 300.0,
        "success_rate": 0.5,
        "game": {"rooms_seen": 2.0},
        "losses": {
            **{"policy_loss": -0.01, "value_loss": 0.5, "entropy": 2.0, "approx_kl": 0.004},
            **{"clip_fraction": 0.1, "explained_variance": 0.3, "learning_rate": 2.5e-4},
        },
        "time": {"seconds": 5.1, "steps_per_s": 4100.0, "play_s": 0.75, "learn_s": 0.25},
        **changes,
    }


def report(folder, metrics=(), summary=None, config=None, pictures=(), video=None, milestones=()):
    path = write_report(
        folder,
        metrics=list(metrics),
        summary=summary or {},
        config=config or {},
        pictures=list(pictures),
        video=video,
        milestones=milestones,
    )
    assert path == folder / "report.html"
    return Page(path.read_text(encoding="utf-8"))


def points(path):
    """Return the (x, y) pairs of a drawn line, all of which must be finite."""
    pairs = [tuple(map(float, pair.split(","))) for pair in re.split("[ML]", path["attrs"]["d"])[1:]]
    assert all(math.isfinite(value) for pair in pairs for value in pair)
    return pairs


def test_headline_numbers(tmp_path):
    summary = {
        **{"run_name": "first", "game": "lantern", "env_steps": 2_048_000, "episodes": 6500, "seconds": 4475.0},
        **{"steps_per_s": 4302.0, "episodes_per_s": 1.45, "return_mean": 12.93, "success_rate": 0.94},
        **{"eval_episodes": 30, "evaluation": {"return_mean": 14.2, "return_std": 3.1}},
    }
    page = report(tmp_path, summary=summary)
    assert page.texts("h1") == ["first"]
    assert page.texts("title") == ["first · Parcade"]
    assert dict(zip(page.texts("dt"), page.texts("dd"), strict=True)) == {
        "Success rate": "94 %",
        "Evaluated return": "14.2± 3.1, in training 12.9",
        "Env steps": "2.05M",
        "Steps per second": "4.3k",
        "Episodes": "6.5k1.45 per second",
        "Time": "1 h 15 min",
    }
    assert "lantern · evaluated on 30 episodes" in page.texts("header")[0]


def test_missing_numbers_are_dashes_and_the_folder_gives_the_name(tmp_path):
    page = report(tmp_path, summary={"success_rate": None, "return_mean": math.nan})
    assert page.texts("h1") == [tmp_path.name]
    assert page.texts("dd") == ["–"] * 5  # without a success rate there is no tile for one


def test_every_recorded_quantity_has_a_curve(tmp_path):
    page = report(tmp_path, [row(u) for u in range(1, 50)])
    assert page.charts() == [
        *("Return per episode", "Success rate", "Episode length", "Rooms seen"),
        *("Policy loss", "Value loss", "Entropy", "KL divergence", "Explained variance", "Clip fraction"),
        *("Steps per second", "Where the time goes"),
    ]


def test_milestones_have_a_section_of_their_own(tmp_path):
    milestones = [
        {"name": "second_room", "metric": "milestone_second_room", "words": "a second <room>"},
        {"name": "lantern", "metric": "success", "words": "the lantern"},
    ]
    game = {"rooms_seen": 2.0, "milestone_second_room": 0.75}
    rows = [row(u, game=game, eval={"milestone_second_room": 0.5, "success_rate": 0.25}) for u in range(1, 5)]
    page = report(tmp_path, rows, milestones=milestones)
    assert page.charts()[:6] == [
        *("Return per episode", "Success rate", "Episode length"),
        *("Second room", "Lantern", "Rooms seen"),
    ]
    assert "Milestones" in page.texts("h2")
    cards = {e["text"] for e in page.all("figcaption")}
    assert any("Second room" in text and "75 %" in text and "a second <room>" in text for text in cards)
    assert any("Lantern" in text and "50 %" in text for text in cards)
    assert "evaluation: 25 % at 4.1k env steps" in page.texts("title")


def test_no_rows_is_said(tmp_path):
    page = report(tmp_path, [])
    assert page.charts() == []
    assert "No update has been recorded yet." in page.texts("p", "lead")


@pytest.mark.parametrize(
    "rows",
    [
        [{}],
        [{"update": 1}],
        [{"env_steps": 0}],
        [{"env_steps": None, "return_mean": 1.0}],
        [row(1)],
        [row(1), row(1)],
        [row(1, return_mean=math.nan, game=None, losses={"value_loss": math.inf}, time={})],
        [row(u, return_mean=1e38 * u, length_mean=0.0, success_rate=-0.0) for u in range(1, 30)],
        [row(u, return_mean=-1e-9 * u, length_mean=1e9 + 1e-7 * u) for u in range(1, 30)],
        [row(u, env_steps=np.int64(u), return_mean=np.float32(u), game={"word": "a"}) for u in range(1, 30)],
    ],
    ids=["empty", "no steps", "step 0", "None", "one", "twice", "NaN", "huge", "tiny", "numpy"],
)
def test_odd_rows_make_a_page_without_nan(tmp_path, rows):
    page = report(tmp_path, rows)
    for element in page.elements:
        for name, value in element["attrs"].items():
            assert name == "aria-label" or not re.search(r"\b(nan|inf)\b", value or ""), element
    for kind in ("raw", "line"):
        for path in page.all("path", kind):
            points(path)


def test_a_single_point_is_a_dot(tmp_path):
    page = report(tmp_path, [{"env_steps": 100, "return_mean": 3.0}])
    assert page.charts() == ["Return per episode"]
    assert len(page.all("circle", "dot")) == 1
    assert page.all("path", "line") == []


def test_nan_is_left_out_and_late_keys_are_kept(tmp_path):
    rows = [row(u) for u in range(1, 21)]
    rows[4]["return_mean"] = math.nan
    rows[15]["game"]["boss_hits"] = 1.0
    rows[18]["game"]["boss_hits"] = 2.0
    page = report(tmp_path, rows)
    assert "Boss hits" in page.charts()
    assert len(points(page.all("path", "raw")[0])) == 19


def test_long_runs_are_thinned_and_keep_their_spikes(tmp_path):
    rows = [{"env_steps": u, "return_mean": 0.0} for u in range(1, 5001)]
    rows[2345]["return_mean"] = 100.0
    page = report(tmp_path, rows)
    raw, line = points(page.all("path", "raw")[0]), points(page.all("path", "line")[0])
    assert len(raw) <= MAX_POINTS
    assert len(line) <= MAX_POINTS
    heights = [y for _, y in raw]
    assert max(heights) - min(heights) > 200
    assert [x for x, _ in raw] == sorted(x for x, _ in raw)


def test_rows_are_drawn_in_the_order_of_env_steps(tmp_path):
    page = report(tmp_path, [row(u) for u in (3, 1, 2)])
    xs = [x for x, _ in points(page.all("path", "line")[0])]
    assert xs == sorted(xs)


def test_evaluations_are_marked_where_they_happened(tmp_path):
    rows = [row(u) for u in range(1, 41)]
    rows[19]["eval"] = {"mean_reward": 2.5, "std_reward": 0.5, "mean_length": 290.0, "success_rate": 0.8}
    page = report(tmp_path, rows)
    assert [e["text"] for e in page.all("g", "mark")] == [
        "evaluation: 2.5 ± 0.5 at 81.9k env steps",
        "evaluation: 80 % at 81.9k env steps",
        "evaluation: 290 at 81.9k env steps",
    ]
    assert len(page.all("path", "whisker")) == 1


def test_axes_have_round_values_with_units(tmp_path):
    page = report(tmp_path, [{"env_steps": u * 10_000, "return_mean": 0.37 * u} for u in range(1, 101)])
    labels = page.texts("text")
    assert labels[: labels.index("40") + 1] == ["0", "10", "20", "30", "40"]
    assert labels[-2:] == ["0.9M", "1.0M"]


def test_time_is_split_in_shares(tmp_path):
    page = report(tmp_path, [row(u) for u in range(1, 5)])
    keys = [text for text in page.texts("span", "key") if "%" in text]
    assert keys == ["playing 75 %", "learning 25 %"]


def test_everything_is_escaped(tmp_path):
    evil = "<script>alert('x')</script>&\""
    page = report(
        tmp_path,
        [row(1, game={evil: 1.0}), row(2, game={evil: 2.0})],
        summary={"run_name": evil, "game": evil},
        config={evil: {"inner": evil}},
        pictures=[(evil, np.zeros((2, 2, 3), np.uint8))],
        video=evil,
    )
    assert page.all("script") == []
    assert page.texts("h1") == [evil]
    assert evil in page.charts()
    assert page.all("img")[0]["attrs"]["alt"] == evil
    assert page.texts("th") == [f"{evil}.inner"]
    assert page.texts("td") == [evil]


def test_pictures_come_back_pixel_for_pixel(tmp_path):
    rng = np.random.default_rng(3)
    colour, grey = rng.integers(0, 256, (9, 7, 3), np.uint8), rng.integers(0, 256, (9, 7), np.uint8)
    page = report(tmp_path, pictures=[("Colour", colour), ("Grey", grey)])
    assert page.texts("figcaption") == ["Colour", "Grey"]
    sources = [e["attrs"]["src"].removeprefix("data:image/png;base64,") for e in page.all("img")]
    read = [cv2.imdecode(np.frombuffer(base64.b64decode(s), np.uint8), cv2.IMREAD_UNCHANGED) for s in sources]
    assert np.array_equal(read[0][..., ::-1], colour)
    assert np.array_equal(read[1], grey)


def test_a_wrong_picture_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"picture 'Four' is \(4, 4, 4\) of uint8"):
        report(tmp_path, pictures=[("Four", np.zeros((4, 4, 4), np.uint8))])
    assert list(tmp_path.iterdir()) == []


def test_video_settings_and_commands(tmp_path):
    folder = tmp_path / "my runs"
    folder.mkdir()
    config = {"game": "lantern", "ppo": {"n_steps": 128, "net": [64, 64], "target_kl": None}, "empty": {}}
    page = report(folder, config=config, video="videos/best one.mp4")
    assert page.all("video")[0]["attrs"]["src"] == "videos/best%20one.mp4"
    assert dict(zip(page.texts("th"), page.texts("td"), strict=True)) == {
        **{"game": "lantern", "ppo.n_steps": "128", "ppo.net": "[64, 64]", "ppo.target_kl": "null", "empty": "{}"}
    }
    assert len(page.all("details")) == 1
    assert page.texts("code") == [
        f"parcade eval --model '{folder}/models/best_model.zip'",
        f"parcade resume '{folder}'",
    ]


def test_without_video_there_is_no_player(tmp_path):
    assert report(tmp_path).all("video") == []


def test_the_page_asks_for_nothing_from_elsewhere(tmp_path):
    page = report(tmp_path, [row(u) for u in range(1, 9)], pictures=[("One", np.zeros((2, 2, 3), np.uint8))])
    assert page.all("script") == page.all("link") == []
    addresses = [e["attrs"].get(key) for e in page.elements for key in ("src", "href") if e["attrs"].get(key)]
    assert all(address.startswith("data:") for address in addresses)
    assert "url(" not in page.texts("style")[0]
    assert "prefers-color-scheme: dark" in page.texts("style")[0]


def test_a_new_report_replaces_the_old_one_whole(tmp_path):
    report(tmp_path, summary={"run_name": "old"})
    assert report(tmp_path, summary={"run_name": "new"}).texts("h1") == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-3.14159, "-3.14"), (310.4, "310"), (999.6, "1k"), (999_960, "1M"), (0.00425, "0.00425")],
)
def test_numbers_in_few_letters(value, text):
    assert short(value) == text
