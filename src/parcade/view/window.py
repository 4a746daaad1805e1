"""The window itself, a process of its own: `python -m parcade.view.window FOLDER`.

It says `ready` (or why not) on stdout, then shows the training that FOLDER names, and the games that write to FOLDER,
until it is closed or stdin ends, which is when the run is over. A run neither waits for it nor notices that it is gone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from parcade.env.pace import Wish, write_wish
from parcade.env.picture_file import CLOSED, Shown
from parcade.view.captions import captions, fitting, form_for_all
from parcade.view.controls import HELP, pressed, status
from parcade.view.display import centre_window, why_no_display
from parcade.view.mosaic import CAPTION, GAP, Mosaic, plan
from parcade.view.tiles import Gallery, Picture, policys_view
from parcade.view.training_gallery import TrainingGallery

FRAMES_PER_S = 30
FOOTER = CAPTION
_MARGIN = 80  # of the screen, left to panels and title bars
_BACK, _INK, _DIM = (16, 17, 20), (225, 228, 232), (140, 146, 155)


def main() -> int:
    """Show a folder until the window is closed or the run ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--title", default="Parcade")
    parser.add_argument("--scale", type=int)
    parser.add_argument("--only-preproc", action="store_true")
    parser.add_argument("--speed", type=float)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the run's to handle: it ends, and so does stdin
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError:
        return _say("needs pygame; pip install 'parcade[view]'")
    why_not = why_no_display(pygame)
    if why_not:
        return _say(f"no window can be opened here ({why_not})")
    window = Window(pygame, arguments.title, arguments.scale, arguments.only_preproc)
    if arguments.speed is not None:
        window.take_wishes(arguments.folder, Wish(arguments.speed))
    _say("ready")
    over = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(over,), daemon=True).start()
    files, training = Gallery(arguments.folder), TrainingGallery(arguments.folder)
    try:
        while not over.is_set() and not window.is_closed():
            window.show({**files.news(), **training.news()})
    finally:
        files.close()
        training.close()
        if over.is_set():
            shutil.rmtree(arguments.folder, ignore_errors=True)  # a killed run leaves it behind
        elif arguments.folder.is_dir():
            (arguments.folder / CLOSED).touch()
        pygame.quit()
    return 0


class Window:
    """Every env's picture and what the policy sees of it, in a grid."""

    def __init__(self, pygame: Any, title: str, scale: int | None, only_preproc: bool) -> None:
        self._pygame, self._wanted, self._only_preproc = pygame, scale, only_preproc
        size = pygame.display.get_desktop_sizes()[0]
        self._room = (max(320, size[0] - _MARGIN), max(240, size[1] - _MARGIN))
        self._surface = pygame.display.set_mode((480, 120))
        pygame.display.set_caption(title)
        pygame.font.init()
        self._font = pygame.font.Font(None, CAPTION)
        self._clock = pygame.time.Clock()
        self._shown: dict[str, Shown] = {}
        self._mosaic: Mosaic | None = None
        self._form = 0  # of the captions
        self._wish: Wish | None = None  # None: the games do not wait for this window
        self._folder = Path()
        self._surface.fill(_BACK)
        self._text("starting the games …", (12, 12), _DIM)
        pygame.display.flip()

    def take_wishes(self, folder: Path, wish: Wish) -> None:
        """Let keys change the games' pace from ``wish`` on."""
        self._folder, self._wish = folder, wish
        write_wish(folder, wish)

    def is_closed(self) -> bool:
        """Return whether the person closed the window (or pressed Escape); other keys are followed."""
        pygame = self._pygame
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return True
            if event.type == pygame.KEYDOWN:
                self._follow(pygame.key.name(event.key))
        return False

    def _follow(self, key: str) -> None:
        if self._wish is None:
            return
        wish = pressed(self._wish, key)
        if wish != self._wish:
            self._wish = wish
            write_wish(self._folder, wish)
            self._draw_footer()
            self._pygame.display.flip()

    def show(self, news: dict[str, Shown]) -> None:
        """Draw the tiles that changed, and keep to a steady rate."""
        self._clock.tick(FRAMES_PER_S)
        if not news:
            return
        is_new = bool(set(news) - set(self._shown))
        self._shown |= news
        if is_new:
            self._make_room()
        assert self._mosaic is not None
        before = 0 if is_new else self._form  # it only gets shorter: captions that come and go cannot be read
        self._form = form_for_all(self._shown.values(), self._mosaic.tile[0], self._width, before)
        redraw = is_new or self._form != before
        for index, name in enumerate(sorted(self._shown)):
            if redraw or name in news:
                self._draw(self._shown[name], self._mosaic.corner(index))
        if is_new:
            self._draw_footer()
        self._pygame.display.flip()

    def _make_room(self) -> None:
        """Give the window the size that its tiles need."""
        sizes = [_content(self._pictures(shown)) for shown in self._shown.values()]
        content = (max(width for width, _ in sizes), max(height for _, height in sizes))
        footer = FOOTER if self._wish is not None else 0
        mosaic = plan(len(sizes), content, (self._room[0], self._room[1] - footer), self._wanted)
        if (
            self._wanted
            and mosaic.scale < self._wanted
            and (self._mosaic is None or self._mosaic.scale != mosaic.scale)
        ):
            print(
                f"parcade: {len(sizes)} games at scale {self._wanted} are larger than the screen; shown at "
                f"{mosaic.scale:.2g}",
                file=sys.stderr,
                flush=True,
            )
        if self._mosaic is None or mosaic.window != self._mosaic.window:
            size = (mosaic.window[0], mosaic.window[1] + footer)
            self._surface = self._pygame.display.set_mode(size)
            centre_window(self._pygame, size)
        self._mosaic = mosaic
        self._surface.fill(_BACK)

    def _pictures(self, shown: Shown) -> list[Picture]:
        seen = policys_view(shown)
        return [seen] if self._only_preproc or shown.raw is None else [shown.raw, seen]

    def _draw_footer(self) -> None:
        """Say the pace and the keys below the games."""
        if self._wish is None or self._mosaic is None:
            return
        width, top = self._mosaic.window
        self._surface.fill(_BACK, (0, top, width, FOOTER))
        now = status(self._wish)
        text = fitting([f"{now}   ({HELP})", f"{now} (Space, N, + -)", now], width - 2 * GAP, self._width)
        self._text(text, (GAP, top), _INK if self._wish.paused else _DIM)

    def _width(self, text: str) -> int:
        width: int = self._font.size(text)[0]
        return width

    def _draw(self, shown: Shown, corner: tuple[int, int]) -> None:
        assert self._mosaic is not None
        left, top = corner
        width, height = self._mosaic.tile
        self._surface.fill(_BACK, (left, top, width, height))
        self._surface.set_clip((left, top, width, height))
        caption = captions(shown)[self._form]
        if shown.raw is None and not self._only_preproc:
            caption += f"   ({shown.why_not})"
        self._text(caption, corner, _INK)
        pictures = self._pictures(shown)
        size_y = max(1, round(pictures[0].shape[0] * self._mosaic.scale))
        for picture in pictures:
            size_x = max(1, round(picture.shape[1] * size_y / picture.shape[0]))
            self._surface.blit(self._scaled(picture, (size_x, size_y)), (left, top + CAPTION))
            left += size_x + GAP
        self._surface.set_clip(None)

    def _scaled(self, picture: Picture, size: tuple[int, int]) -> Any:
        pygame = self._pygame
        height, width = picture.shape[:2]
        surface = pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB")
        if size[0] >= width:
            return pygame.transform.scale(surface, size)  # whole squares
        return pygame.transform.smoothscale(surface.convert(24), size)

    def _text(self, text: str, corner: tuple[int, int], ink: tuple[int, int, int]) -> None:
        self._surface.blit(self._font.render(text, True, ink), corner)


def _content(pictures: list[Picture]) -> tuple[float, float]:
    """Return width and height of a tile's pictures at scale 1: all as high as the first one, side by side."""
    height = pictures[0].shape[0]
    widths = [picture.shape[1] * height / picture.shape[0] for picture in pictures]
    return sum(widths) + GAP * (len(widths) - 1), float(height)


def _wait_for_the_end(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def _say(text: str) -> int:
    print(text, flush=True)
    return 0 if text == "ready" else 1


if __name__ == "__main__":
    sys.exit(main())
