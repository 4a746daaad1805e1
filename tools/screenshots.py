"""Takes the pictures of the live page for the docs: a real training, the page's server, and Chromium.

    python tools/screenshots.py                          docs/images/page_*.png, as the docs show them
    python tools/screenshots.py --all /tmp/look          every view in light and dark at 390, 1280 and 2560 pixels

Needs `pip install 'parcade[dev]'` and Debian's chromium. It takes about five minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parent.parent / "docs" / "images"
PARCADE = [sys.executable, "-m", "parcade.cli.main"]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
DEADLINE_S = 300.0
EXACT, COLOURS = 176, 256  # colours of a picture; so many of them, the most frequent ones, are kept as they are


@dataclass(frozen=True)
class Shot:
    """One picture: where it is on the page, and what must be seen before it is taken."""

    name: str
    place: dict[str, Any]
    ready: str  # JavaScript that is true when there is something to see
    width: int = 1280
    height: int = 800
    theme: str = "light"
    act: str = ""  # JavaScript that is run first
    ratio: float = 1.0


TILES = "[...document.querySelectorAll('.tile')].slice(0, 12)"
FULL_TILES = f"{TILES}.length && {TILES}.every((tile) => tile.matches('.has-picture'))"
PAID = "document.querySelectorAll('.strip rect').length > 40"
CHOICE = "document.querySelector('.chance.is-taken')"
VALUE = "document.querySelector('.value .big')"
COMPARED = "document.querySelectorAll('.chip').length > 1 && document.querySelector('.table-card td')"
PLACED = "document.querySelectorAll('.chip-button').length > 8 && document.querySelector('canvas.map[data-map]')"
COMPARE = """const choice = document.querySelector('select[aria-label^=compare]');
choice.value = choice.options[1].value;
choice.dispatchEvent(new Event('change'))"""
VIEWS = (
    Shot("games", {"view": "games"}, FULL_TILES),
    Shot("game", {"view": "games", "slot": 5}, f"{PAID} && {CHOICE} && {VALUE}"),
    Shot("curves", {"view": "curves"}, "document.querySelectorAll('.chart').length > 8"),
    Shot("compared", {"view": "curves"}, COMPARED, act=COMPARE),
    Shot("map", {"view": "map"}, PLACED),
    Shot("episodes", {"view": "episodes"}, "document.querySelectorAll('.field-dot').length > 20"),
    Shot("replay", {"view": "episodes", "episode": "best"}, f"{PAID} && {CHOICE}"),
    Shot("run", {"view": "run"}, "document.querySelector('.file') && document.querySelector('.split i')"),
)
BY_NAME = {shot.name: shot for shot in VIEWS}
FOR_DOCS = (
    replace(BY_NAME["games"], name="page_games", width=1920, height=1180, theme="dark"),
    replace(BY_NAME["game"], name="page_game", height=860),
    replace(BY_NAME["compared"], name="page_curves", height=900),
    replace(BY_NAME["map"], name="page_map", theme="dark"),
    replace(BY_NAME["episodes"], name="page_episodes"),
    replace(BY_NAME["replay"], name="page_replay", height=860),
    replace(BY_NAME["run"], name="page_run", height=860),
    replace(BY_NAME["games"], name="page_phone", width=390, height=760, theme="dark", ratio=2.0),
)


def until(fact: Callable[[], Any], what: str) -> Any:
    """Wait for a fact and return it."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := fact()):
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {DEADLINE_S:.0f} s for {what}")
        time.sleep(0.2)
    return found


@contextmanager
def started(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a verb beside this script."""
    process = subprocess.Popen([*PARCADE, *words], cwd=home, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def trained_steps(home: Path, name: str) -> int:
    """Return how far a training is."""
    for metrics in home.glob(f"results/{name}/*/metrics.jsonl"):
        rows = metrics.read_text().splitlines()
        return int(json.loads(rows[-1])["env_steps"]) if rows else 0
    return 0


def best_episode(home: Path, name: str) -> int:
    """Return the number of a training's best kept episode."""
    (index,) = home.glob(f"results/{name}/*/episodes/index.json")
    return int(json.loads(index.read_text())["kinds"]["best"][0])


def take(chromium: Browser, url: str, place: dict[str, Any], shot: Shot, path: Path) -> None:
    """Take one picture of the page."""
    context = chromium.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme=shot.theme,
        device_scale_factor=shot.ratio,
        bypass_csp=True,  # for the style below; the page itself has none of its own
    )
    try:
        page = context.new_page()
        page.goto(f"{url}#{urlencode({**place, **shot.place})}")
        page.add_style_tag(content="html { scrollbar-gutter: auto !important }")  # a hidden scrollbar leaves no gap
        if shot.act:
            shows(page, "document.querySelectorAll('select[aria-label^=compare] option').length > 1")
            page.evaluate(f"() => {{ {shot.act} }}")
        shows(page, shot.ready)
        settle(page)
        page.screenshot(path=path, animations="disabled")
    finally:
        context.close()
    reduced(path)
    print(f"{path}  {path.stat().st_size:,} bytes", flush=True)


def shows(page: Page, fact: str) -> None:
    """Wait until something is to be seen; asked again and again, for the page allows no script but its own."""
    until(lambda: page.evaluate(f"() => Boolean({fact})"), fact)


def settle(page: Page) -> None:
    """Let games move on and curves arrive; what is waited for is there already."""
    page.wait_for_timeout(2500)


def reduced(path: Path) -> None:
    """Write a picture with a palette, a third of the bytes: areas keep their colours, edges of letters share theirs."""
    with Image.open(path) as picture:
        plain = picture.convert("RGB")
    colours = [colour for _, colour in sorted(plain.getcolors(1 << 24), reverse=True)]
    chosen, rest = colours[:EXACT], colours[EXACT:]
    if rest:
        line = Image.new("RGB", (len(rest), 1))
        line.putdata(rest)
        few = line.quantize(COLOURS - EXACT, dither=Image.Dither.NONE).convert("RGB").getcolors(COLOURS)
        chosen += [colour for _, colour in few]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in chosen for part in colour])
    plain.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def wanted_shots(folder: Path | None) -> list[tuple[Shot, Path]]:
    """Return what is to be taken, and where it goes."""
    if folder is None:
        return [(shot, IMAGES / f"{shot.name}.png") for shot in FOR_DOCS]
    folder.mkdir(parents=True, exist_ok=True)
    sizes = ((390, 844), (1280, 800), (2560, 1300))
    return [
        (replace(shot, width=width, height=height, theme=theme), folder / f"{shot.name}_{width}_{theme}.png")
        for shot in VIEWS
        for width, height in sizes
        for theme in ("light", "dark")
    ]


def main() -> None:
    """Train, serve, look."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", type=Path, metavar="DIR", help="every view in every width and theme, into this folder")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these pictures only")
    parser.add_argument("--n-envs", type=int, default=64, metavar="N", help="games [64]")
    parser.add_argument("--steps", type=int, default=400_000, metavar="N", help="steps before the pictures [400000]")
    parser.add_argument("--game", default="lantern", help="title [lantern]")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended
    shots = [one for one in wanted_shots(given.all) if not given.only or one[0].name in given.only]
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        flags = ["train", "--game", given.game, "--n-envs", str(given.n_envs), "--final-eval-episodes", "0", "--plain"]
        flags += ["--eval-freq", "100000", "--n-eval-episodes", "10"]
        other = [*flags, "--timesteps", str(max(20_000, given.steps // 2)), "--seed", "7", "--learning-rate", "0.0002"]
        with started(home, *other, "--run-name", f"{given.game}-slow") as before:
            until(lambda: before.poll() is not None, "the first training")
        if before.returncode:
            raise SystemExit("the first training did not end well")
        training = stack.enter_context(started(home, *flags, "--timesteps", "5M", "--run-name", given.game))
        until(lambda: trained_steps(home, given.game) >= given.steps or training.poll() is not None, "the training")
        watch = stack.enter_context(started(home, "watch", "--json", "--port", "0"))
        assert watch.stdout is not None
        url = json.loads(watch.stdout.readline())["url"]
        (run,) = home.glob(f"results/{given.game}/*")
        playwright = stack.enter_context(sync_playwright())
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        stack.callback(chromium.close)
        for shot, path in shots:
            if shot.place.get("episode") == "best":
                shot = replace(shot, place={**shot.place, "episode": best_episode(home, given.game)})
            take(chromium, url, {"run": run.relative_to(home / "results").as_posix()}, shot, path)


if __name__ == "__main__":
    main()
