"""The live page in Chromium, beside a real training."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from browser_support import DEADLINE_S, N_GAMES, PrefixProxy, Training, Watch, opened, until

# A number for each game's picture; 0 where there is none.
PICTURES = """() => [...document.querySelectorAll('.tile')].map((tile) => {
  const canvas = tile.querySelector('canvas');
  if (!tile.classList.contains('has-picture')) return 0;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let sum = 1;
  for (let i = 0; i < data.length; i += 4) sum = (sum * 31 + data[i] * 99 + data[i + 1] * 7 + data[i + 2]) % 1e9;
  return sum;
})"""


def go(page, view):
    page.click(f'.tab[data-view="{view}"]')


def pictures(page):
    return page.evaluate(PICTURES)


def test_the_mosaic_shows_moving_and_different_games(page):
    def all_different():
        found = pictures(page)  # some games may be in rooms that look alike
        return found if len(found) == N_GAMES and all(found) and len(set(found)) >= N_GAMES - 3 else None

    first = until(all_different, "a picture of each game")
    until(lambda: sum(a != b for a, b in zip(first, pictures(page), strict=True)) >= N_GAMES - 2, "all games to move")
    sizes = "({ width, height, clientWidth, clientHeight }) => [width, height, clientWidth, clientHeight]"
    width, height, shown_width, shown_height = page.locator(".tile canvas").first.evaluate(sizes)
    assert (width, height) == (160, 144)
    assert shown_width % width == 0
    assert shown_width // width == shown_height // height
    until(lambda: page.inner_text(".state .phase") in ("playing", "learning"), "the phase")
    until(lambda: "steps/s" in page.inner_text(".state .rate"), "the speed")


def test_a_tile_opens_with_all_that_is_known_of_it(page):
    page.click('.tile[data-slot="5"]')
    page.wait_for_selector(".chance.is-taken")
    assert page.inner_text(".view-title") == "Game 5"
    shares = [int(text.split()[0]) for text in page.locator(".chance .share").all_inner_texts()]
    assert len(shares) == 6
    assert 97 <= sum(shares) <= 103
    until(lambda: page.locator(".strip rect").count() > 20, "a strip of rewards")
    assert "step" in page.inner_text(".legend")
    assert "rooms seen" in page.inner_text(".detail-side")
    assert "hearts" in page.inner_text(".pairs.is-dense")
    assert page.locator(".bars rect").count() == 92
    before = page.inner_text(".facts")
    until(lambda: page.inner_text(".facts") != before, "the next step")
    until(lambda: page.locator(".value .big").count() == 1, "its value, once there is a checkpoint")
    assert float(page.inner_text(".value .big").replace("−", "-")) != 0
    assert "by the policy as it was saved at" in page.inner_text(".value")
    page.keyboard.press("ArrowRight")
    until(lambda: page.inner_text(".view-title") == "Game 6", "the next game")
    page.keyboard.press("Escape")
    page.wait_for_selector('.tile[data-slot="5"]')


def test_curves_grow_and_can_be_saved(page):
    go(page, "curves")
    names = page.locator(".chart figcaption b")
    until(lambda: {"Return", "Success rate", "Entropy"} <= set(names.all_inner_texts()), "an ended episode's curves")
    chart = page.locator('.chart[data-name="losses/entropy"]')
    count = "element => Number(element.dataset.points)"
    first = until(lambda: chart.evaluate(count), "points")
    until(lambda: chart.evaluate(count) > first + 2, "more points")
    with page.expect_download() as saved:
        chart.locator("button", has_text="CSV").click(force=True)
    lines = Path(saved.value.path()).read_text().splitlines()
    assert lines[0] == "run,env_steps,losses/entropy"
    assert len(lines) > first
    with page.expect_download() as saved:
        chart.locator("button", has_text="PNG").click(force=True)
    assert Path(saved.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with page.expect_download() as saved:
        page.click("text=CSV >> nth=0")
    assert "losses/entropy" in Path(saved.value.path()).read_text().splitlines()[0]


def test_the_map_fills(page):
    go(page, "map")
    visits = page.locator(".map-row small").first
    visits.wait_for()
    first = visits.inner_text()
    until(lambda: visits.inner_text() != first, "more visits")
    assert page.inner_text(".map-row.is-chosen span") == "floor 1"
    until(lambda: page.locator(".chip-button").count() == N_GAMES, "all games on the map")
    until(lambda: map_colours(page) > 50, "a picture of the map with the heat on it")


def test_the_page_says_while_a_map_is_drawn(page):
    held = []
    page.route("**/api/map?*", lambda route: held.append(route))
    go(page, "map")
    until(lambda: "drawing the map" in page.inner_text(".toolbar .note"), "the words")
    until(lambda: held, "the question for the map")
    for one in held:
        one.continue_()
    until(lambda: "drawing" not in page.inner_text(".toolbar .note"), "the map")


def map_colours(page):
    """Return how many colours the map has; 0 before it is drawn, when the canvas has its first size."""
    return page.evaluate(
        """() => { const canvas = document.querySelector('canvas.map');
        if (!canvas || canvas.width <= 300) return 0;
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add(data[i] * 65536 + data[i + 1] * 256 + data[i + 2]);
        return seen.size; }"""
    )


def contrast_under_heat(page):
    """Return how much of the map's own contrast is left where the heat lies on it, 0 to 1."""
    return page.evaluate(
        """() => { const canvas = document.querySelector('canvas.map');
        const slider = document.querySelector('input[aria-label=heat]');
        const greys = (heat) => {
          slider.value = heat;
          slider.dispatchEvent(new Event('input'));
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return Float32Array.from({ length: data.length / 4 },
            (_, i) => 0.3 * data[4 * i] + 0.59 * data[4 * i + 1] + 0.11 * data[4 * i + 2]);
        };
        const usual = slider.value;
        const [bare, hot] = [greys(0), greys(usual)];
        let [left, whole] = [0, 0];
        for (let i = 1; i < bare.length; i++) {
          if (bare[i] === hot[i] || bare[i - 1] === hot[i - 1]) continue;
          whole += Math.abs(bare[i] - bare[i - 1]);
          left += Math.abs(hot[i] - hot[i - 1]);
        }
        return whole ? left / whole : 0; }"""
    )


# How much colour a place has where nobody was, without heat and with it.
FADES = """async () => {
  const { MapCanvas } = await import('./static/map_canvas.js');
  const image = new OffscreenCanvas(64, 64);
  const paint = image.getContext('2d');
  paint.fillStyle = 'rgb(200, 40, 40)';
  paint.fillRect(0, 0, 64, 64);
  const map = new MapCanvas();
  map.picture = { image, left: 0, top: 0, isWhole: true };
  map.visits = { left: 0, top: 0, columns: 1, rows: 1, counts: [5] };
  return [0, 1].map((heat) => {
    map.heat = heat;
    map.draw(64, 64, []);
    const { data } = map.element.getContext('2d').getImageData(48, 48, 1, 1);
    return Math.max(...data.slice(0, 3)) - Math.min(...data.slice(0, 3));
  });
}"""


def test_heat_is_the_only_colour_of_a_map(page):
    bare, hot = page.evaluate(FADES)
    assert bare == 160
    assert hot < 10


# How wide the dot of the first game is, of one game and of a crowd, each at a place of its own.
DOTS = """async () => {
  const { MapCanvas } = await import('./static/map_canvas.js');
  const map = new MapCanvas();
  map.picture = { image: new OffscreenCanvas(640, 112), left: 0, top: 0, isWhole: true };
  return [1, 256].map((count) => {
    const place = (slot) => [slot % 40, Math.floor(slot / 40)];
    map.draw(1280, 224, Array.from({ length: count }, (_, slot) => ({ slot, place: place(slot) })));
    const { data } = map.element.getContext('2d').getImageData(0, 16, 32, 1);
    return Array.from({ length: 32 }, (_, x) => data[4 * x] !== data[0]).filter(Boolean).length;
  });
}"""


def test_the_dots_of_a_crowd_are_smaller(page):
    one, crowd = page.evaluate(DOTS)
    assert 16 <= one <= 22
    assert 8 <= crowd <= 14


def test_a_killed_worker_is_told_in_words(page, training):
    go(page, "run")
    page.wait_for_selector("text=No worker has died")
    training.workers()[0].send_signal(signal.SIGKILL)
    words = until(lambda: page.locator(".deaths li").all_inner_texts(), "the death")
    assert "killed by SIGKILL" in words[0]
    assert "restored exactly" in words[0]
    until(lambda: "update=" in page.inner_text(".log"), "the log")
    until(lambda: "total timesteps" in page.inner_text(".run"), "the settings")
    assert page.locator(".pairs.is-wide dt").all_inner_texts()[:3] == ["game", "seed", "total timesteps"]
    assert "500,000,000" in page.inner_text(".pairs.is-wide")
    assert "{}" not in page.inner_text(".pairs.is-wide")  # what was left open is not told


def test_the_page_comes_back_after_the_server_restarts(chromium, home, training):
    serving = Watch(home, "--port", "0")
    try:
        with opened(chromium, serving.url) as page:
            page.guard.tolerated = ("ERR_CONNECTION_REFUSED", "WebSocket connection", "Failed to load resource")
            until(lambda: all(pictures(page) or [0]), "all pictures")
            serving.stop()
            until(lambda: page.inner_text(".state .phase") == "connecting", "the loss of the server")
            serving = Watch(home, "--port", str(serving.port))
            until(lambda: page.inner_text(".state .phase") in ("playing", "learning"), "the server")
            before = pictures(page)
            until(
                lambda: sum(a != b for a, b in zip(before, pictures(page), strict=True)) > N_GAMES // 2, "moving games"
            )
    finally:
        serving.stop()


def test_a_phone_has_no_sideways_scroll(chromium, watch):
    filled = {
        "curves": ".chart",
        "map": ".map-row",
        "episodes": ".episode-row",
        "run": ".file",
        "games": ".has-picture",
    }
    with opened(chromium, watch.url, 390, 844, device_scale_factor=3, has_touch=True) as page:
        for view, content in filled.items():
            go(page, view)
            page.wait_for_selector(content)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
        page.click('.tile[data-slot="1"]')
        page.wait_for_selector(".chance.is-taken")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_two_runs_are_compared_on_a_phone_without_scrolling(chromium, tmp_path):
    for name, rate in (("lantern-quick", 0.001), ("lantern-slow", 0.0001)):
        run = tmp_path / name / "20260101-000000"
        run.mkdir(parents=True)
        (run / "config.json").write_text(json.dumps({"game": "lantern", "learning_rate": rate, "run_name": name}))
        (run / "metrics.jsonl").write_text(json.dumps({"env_steps": 1, "return_mean": 1.0}) + "\n")
    with (
        Watch(tmp_path, str(tmp_path), "--port", "0") as serving,
        opened(chromium, serving.url, 390, 844, has_touch=True) as page,
    ):
        choice = page.locator("select[aria-label^=compare]")
        until(lambda: choice.locator("option").count() > 1, "another run")
        choice.select_option(index=1)
        page.locator(".table-card td").first.wait_for()
        assert page.locator(".table-card").evaluate("card => card.scrollWidth - card.clientWidth") == 0


def test_names_of_runs_are_texts(chromium, home, training, watch):
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    folder = home / "results" / "<b>bold" / "20200101-000000"
    folder.mkdir(parents=True)
    try:
        config = json.loads((training.run / "config.json").read_text()) | {"game": evil, "run_name": evil}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "metrics.jsonl").write_text(
            json.dumps({"env_steps": 1, "return_mean": 1.0, "game": {evil: 2.0}}) + "\n"
        )
        with opened(chromium, f"{watch.url}#run={'<b>bold/20200101-000000'.replace('<', '%3C')}&view=curves") as page:
            until(lambda: page.inner_text(".run-name") == "<b>bold", "the name")
            until(lambda: "<img src=x onerror=alert(1)>" in page.inner_text(".curves"), "the curve")
            page.click(".chooser")
            page.wait_for_selector(".run-row")
            until(
                lambda: any(evil in text for text in page.locator(".run-row .run-when").all_text_contents()), "the game"
            )
            assert page.locator("main img, main script, .runs-panel img").count() == 0
            go(page, "games")
            page.wait_for_selector("text=This run is not running")
    finally:
        shutil.rmtree(folder.parent)


def test_a_run_that_is_over_opens_with_its_curves(chromium, tmp_path):
    run = tmp_path / "ended" / "20260101-000000"
    run.mkdir(parents=True)
    (run / "config.json").write_text(json.dumps({"game": "lantern", "total_timesteps": 300}))
    (run / "summary.json").write_text("{}")
    rows = [{"env_steps": 100 * i, "return_mean": 1.0, "time": {"worker_restarts": 0}} for i in (1, 2, 3)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Watch(tmp_path, str(tmp_path), "--port", "0") as serving, opened(chromium, serving.url) as page:
        page.wait_for_selector(".chart")
        assert page.url.endswith("view=curves")
        until(lambda: line_pixels(page, "time/worker_restarts") > 100, "a line of zeros")
        go(page, "games")
        page.wait_for_selector("text=This run is not running")
        page.click('[data-door="curves"]')
        page.wait_for_selector(".chart")


def line_pixels(page, name):
    """Return how many pixels of a chart are of no grey: those of its lines."""
    return page.locator(f'.chart[data-name="{name}"] canvas').evaluate(
        """canvas => { const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let i = 0; i < data.length; i += 4) found += data[i + 3] > 40 && data[i + 2] - data[i] > 60;
        return found; }"""
    )


FEW = ("--n-envs", "2", "--n-workers", "1", "--n-steps", "16")


@pytest.mark.long
def test_a_training_that_was_killed_is_over(chromium, home):
    with (
        Training(home, *FEW, name="killed") as killed,
        Watch(home, str(killed.run), "--port", "0") as serving,
        opened(chromium, serving.url) as page,
    ):
        until(lambda: any(pictures(page)), "a picture")
        os.killpg(killed.process.pid, signal.SIGKILL)
        page.wait_for_selector("text=the training is over")
        assert (killed.run / "live.json").exists()  # a stale one, which nobody takes for a living one
        until(lambda: page.inner_text(".state .phase") == "not running", "the state")


@pytest.mark.long
def test_a_vanished_block_is_told_and_the_map_outlives_the_training(chromium, home):
    with (
        Training(home, *FEW, name="ended") as ended,
        Watch(home, str(ended.run), "--port", "0") as serving,
        opened(chromium, serving.url) as page,
    ):
        until(lambda: any(pictures(page)), "a picture")
        Path(json.loads((ended.run / "live.json").read_text())["told"]["path"]).unlink()
        page.wait_for_selector("text=has vanished; the training itself goes on")
        until(lambda: page.inner_text(".state .phase") == "cannot be watched", "the state")
        before = (ended.run / "metrics.jsonl").stat().st_size
        until(lambda: (ended.run / "metrics.jsonl").stat().st_size > before, "the training to go on")
        ended.process.terminate()
        assert ended.process.wait(DEADLINE_S) == 143
        go(page, "map")
        page.wait_for_selector("text=as the training left them")
        until(lambda: map_colours(page) > 50, "the map")
        assert contrast_under_heat(page) > 0.65
        assert page.locator(".chip-button").count() == 2
        page.click(".chip-button >> nth=0")
        page.wait_for_selector(".chip-button.is-chosen")


def test_the_page_says_what_cannot_be_shown(chromium, home, training, watch):
    folder = home / "results" / "newer" / "20200101-000000"
    folder.mkdir(parents=True)
    try:
        shutil.copy(training.run / "config.json", folder)
        (folder / "live.json").write_text(json.dumps({"version": 99}))
        with opened(chromium, f"{watch.url}#run=newer/20200101-000000&view=games") as page:
            page.wait_for_selector("text=is of another version of Parcade")
            go(page, "episodes")
            page.wait_for_selector("text=This run has no episodes")
        with opened(chromium, f"{watch.url}#run=no/such&view=games", tolerated=("404",)) as page:
            page.wait_for_selector("text=This server has no such run")
            until(lambda: page.inner_text(".state .phase") == "cannot be watched", "the state")
            go(page, "run")
            page.wait_for_selector("text=This run cannot be read")
    finally:
        shutil.rmtree(folder.parent)


@pytest.mark.long
def test_the_page_works_behind_a_proxy_with_a_prefix(chromium, home, training):
    with (
        Watch(home, "--port", "0", "--token") as serving,
        PrefixProxy("/lab/games", serving.port) as proxy,
        opened(chromium, f"{proxy.url}?{serving.url.partition('?')[2]}") as page,
    ):
        until(lambda: len(found := pictures(page)) == N_GAMES and all(found), "all pictures")
        assert page.url.startswith(f"{proxy.url}#")  # the token has left the address
        go(page, "curves")
        page.wait_for_selector(".chart")
        go(page, "map")
        until(lambda: map_colours(page) > 50, "the map")


def thinks_as_a_saved_policy(page):
    """Check that chances and value are shown, and that the page says whose they are."""
    until(lambda: page.locator(".chance.is-taken").count() == 1, "the action among its chances")
    shares = [int(text.split()[0]) for text in page.locator(".chance .share").all_inner_texts()]
    assert len(shares) == 6
    assert 97 <= sum(shares) <= 103
    assert "were not kept" in page.inner_text(".chosen-by")
    assert "steps" in page.locator(".chosen-by select option").first.inner_text()
    assert float(page.inner_text(".value .big").replace("−", "-")) != 0
    assert page.locator(".value .spark").count() == 1


def test_kept_episodes_stand_in_one_picture_and_one_that_is_gone_is_told(page):
    go(page, "episodes")
    page.locator(".field-dot").first.wait_for()
    assert "return" in page.locator(".field-dot").first.get_attribute("title")
    number = page.evaluate(
        """() => { const door = document.querySelector('[data-door]');
        door.click();
        return door.dataset.door; }"""
    )
    until(lambda: page.inner_text(".player .view-title") == f"Episode {int(number):,}", "the episode")
    page.evaluate("location.hash = location.hash.replace(/episode=[0-9]+/, 'episode=987654321')")
    page.wait_for_selector("text=Episode 987,654,321 cannot be played")
    assert page.locator(".scrub").count() == 0
    page.click("text=All kept episodes")
    page.locator(".field-dot").first.wait_for()


def test_an_episode_plays_again_to_its_recorded_return(page, training, tmp_path):
    go(page, "episodes")
    page.click('.segments button[data-value="best"]')
    page.locator(".episode-row").first.wait_for()
    # In one go: the list changes while the training goes on.
    recorded, number = page.evaluate(
        """() => { const row = document.querySelector('.episode-row');
        row.click();
        return [row.querySelector('.episode-return').textContent, row.dataset.episode]; }"""
    )
    page.wait_for_selector(".scrub")
    page.select_option(".controls select", "64")
    until(lambda: "exactly as recorded" in page.inner_text(".player-note"), "the end of the episode")
    assert f"return {recorded}," in page.inner_text(".player-note")
    length = int(page.locator(".scrub").get_attribute("max"))
    assert page.inner_text(".place") == f"{length:,} / {length:,}"
    last = page.evaluate("document.querySelector('.large').toDataURL()")
    page.locator(".scrub").fill("5")
    until(lambda: page.inner_text(".place").startswith("5 /"), "step 5")
    page.keyboard.press("ArrowRight")
    until(lambda: page.inner_text(".place").startswith("6 /"), "one more step")
    assert page.evaluate("document.querySelector('.large').toDataURL()") != last
    assert "hearts" in page.inner_text(".pairs.is-dense")
    thinks_as_a_saved_policy(page)
    page.click("text=save this moment")
    until(lambda: "saved:" in page.inner_text(".player-note"), "a start state")
    saved = training.run / "states" / f"episode_{number}_step_6.state"
    assert saved.stat().st_size > 1000
    assert saved.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as film:
        page.click("text=mp4")
    assert Path(film.value.path()).read_bytes()[4:8] == b"ftyp"
