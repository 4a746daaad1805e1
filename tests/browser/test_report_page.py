"""The report of a run, a comparison and a sweep on a phone, in a real Chromium."""

import json

import pytest

from parcade.run.compare_page import write_page
from parcade.run.comparison import compare
from parcade.run.page import PAGE, STYLE
from parcade.run.report import write_report
from parcade.tune.sweep import charts
from parcade.tune.sweep import page as sweep_page
from parcade.tune.sweep.file import read_sweep
from parcade.tune.sweep.outcome import Outcome
from parcade.tune.sweep.records import TrialRecord
from parcade.tune.sweep.scales import Scale
from parcade.tune.sweep.sweep import Sweep

CHARTS = """[...document.querySelectorAll('.card')].map(card => {
  const shown = [...card.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0);
  const letters = shown.flatMap(svg => [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect().height));
  return {shown: shown.length, scrolls: card.scrollWidth > card.clientWidth, letters: Math.min(...letters)};
})"""


def made_runs(folder):
    """Return two runs whose settings differ, as `parcade compare` reads them."""
    runs = []
    for name, rate in (("first", 0.001), ("second", 0.0001)):
        run = folder / name
        run.mkdir()
        (run / "config.json").write_text(json.dumps({"game": "lantern", "seed": 0, "learning_rate": rate}))
        (run / "manifest.json").write_text('{"started": "2026-11-18T12:00:00+01:00"}')
        rows = [{"env_steps": 100 * i, "return_mean": rate * i, "time": {"seconds": i}} for i in range(1, 9)]
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        runs.append(run)
    return runs


def report(folder):
    metrics = [
        {"env_steps": 1000 * i, "return_mean": float(i), "success_rate": 0.5, "length_mean": 9.0} for i in range(1, 30)
    ]
    return write_report(folder, metrics=metrics, summary={}, config={}, pictures=[], video=None)


def comparison(folder):
    write_page(folder / "compare.html", compare(made_runs(folder)))
    return folder / "compare.html"


def sweep(folder):
    axes = {f"setting_{i}": Scale(0.0, 1.0) for i in range(7)}
    paths = [charts.Path(dict.fromkeys(axes, 0.1 * i), f"trial {i}", "best" if i == 3 else "") for i in range(9)]
    body = f'<div class="wide">{charts.parallel(axes, paths, "lines")}</div>'
    (folder / "sweep.html").write_text(PAGE.format(title="sweep", style=STYLE, body=body))
    return folder / "sweep.html"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(("made", "n_charts"), [(report, 3), (comparison, 2), (sweep, 1)])
def test_every_chart_is_seen_whole_and_once(chromium, tmp_path, made, n_charts, width):
    page = chromium.new_page(viewport={"width": width, "height": 844})
    try:
        page.goto(made(tmp_path).as_uri())
        found = page.evaluate(CHARTS)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.close()
    assert len(found) == n_charts
    for chart in found:
        assert chart["shown"] == 1
        assert not chart["scrolls"]
        assert chart["letters"] > 8, "pixels: smaller letters cannot be read"


def small_sweep(folder):
    """Return the page of a sweep with two trials, without the defaults and without a pause."""
    (folder / "small.yaml").write_text(
        "fixed: {game: lantern}\nsettings: {gamma: {float: [0.9, 0.99]}, n_steps: [32, 64]}\n"
        "objective: {metric: rollout/ep_rew_mean}\nbudget: {n_trials: 2}\n"
    )
    trials = [
        TrialRecord(
            i, {"gamma": 0.9 + i / 20, "n_steps": 32}, "complete", values=(float(i),), env_steps=64, seconds=1.0
        )
        for i in (0, 1)
    ]
    plan = read_sweep(str(folder / "small.yaml"), {})
    sweep_page.write_page(folder / "sweep.html", Outcome(Sweep(plan, folder / "small"), trials))
    return folder / "sweep.html"


# What is wider than its box, which cuts it off.
CUT = "[...document.querySelectorAll('.tiles')].filter(box => box.scrollWidth > box.clientWidth).length"


def test_a_sweep_names_what_there_is_and_cuts_no_words(chromium, tmp_path):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    try:
        page.goto(small_sweep(tmp_path).as_uri())
        assert page.evaluate(CUT) == 0
        assert page.locator("section").nth(1).locator(".key").all_inner_texts() == [
            "the best trial",
            "others that came to their end",
        ]
        assert "Fewer than 6 trials" in page.locator(".card").first.inner_text()
        assert page.evaluate("document.querySelector('.sofar').nextElementSibling.tagName") == "circle"  # dots on top
    finally:
        page.close()


def test_a_comparison_names_runs_from_where_it_lies(tmp_path):
    text = comparison(tmp_path).read_text()
    assert "<td>first</td>" in text
    assert str(tmp_path) not in text
