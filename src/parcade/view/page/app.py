"""What the server answers: the page, plain data about runs, files of runs, and the websocket of a running training."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from parcade.errors import ParcadeError
from parcade.run.places import load_places
from parcade.view.page.about_run import is_live, run_card, run_facts, slot_lines
from parcade.view.page.columns import Columns, csv_lines
from parcade.view.page.guard import Door, Guard
from parcade.view.page.hub import Hub, refuse
from parcade.view.page.maps import Atlas
from parcade.view.page.png import png
from parcade.view.page.replay_socket import Replays
from parcade.view.page.replaying import film, kept_facts
from parcade.view.page.retold_maps import RetoldMaps
from parcade.view.page.runs import RunPlace, Runs, read_json, tail
from parcade.view.page.visits import told, visits_message

STATIC = Path(__file__).parent / "static"
SERVED = ("models", "checkpoints", "videos")  # folders of a run whose files can be downloaded
NO_RUN = "this server has no such run; choose one from the list"
_MOST_KEPT = 16  # runs whose columns stay in memory


class Page:
    """The server's answers."""

    def __init__(self, runs: Runs, hub: Hub) -> None:
        self._runs, self._hub = runs, hub
        self._columns: dict[str, Columns] = {}
        self._atlas, self._replays, self._retold = Atlas(), Replays(), RetoldMaps()
        self._lock = threading.Lock()  # plain functions are called in threads

    def routes(self) -> list[Any]:
        """Return what is answered; every address is relative, so that a prefix does no harm."""
        return [
            Route("/", self.index),
            Route("/api/runs", self.runs),
            Route("/api/run", self._of_run(lambda run, _: _json(run_facts(run)))),
            Route("/api/metrics", self._of_run(self.metrics)),
            Route("/api/metrics.csv", self._of_run(self.csv)),
            Route("/api/slots", self._of_run(lambda run, asked: _json(slot_lines(run, asked.get("slots", ""))))),
            Route("/api/log", self._of_run(lambda run, _: _json({"text": tail(run.path / "logs" / "train.log")}))),
            Route("/api/file", self._of_run(self.file)),
            Route("/api/map", self._of_run(self.map)),
            Route("/api/seen_map", self._of_run(self.seen_map)),
            Route("/api/places", self._of_run(self.places)),
            Route("/api/visits", self._of_run(self.visits)),
            Route("/api/episodes", self._of_run(lambda run, _: _json(kept_facts(run.path)))),
            Route("/api/episode.mp4", self._of_run(self.film)),
            WebSocketRoute("/ws", self.socket),
            WebSocketRoute("/replay", self.replay),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    def index(self, request: Request) -> Response:
        """Return the page itself."""
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    def runs(self, request: Request) -> Response:
        """Return a card for each run, the newest first."""
        return _json({"root": self._runs.root.name, "runs": [run_card(run) for run in self._runs.all()]})

    def _of_run(self, answer: Callable[[RunPlace, dict[str, str]], Response]) -> Callable[[Request], Response]:
        """Return an endpoint about the run that the query names."""

        def endpoint(request: Request) -> Response:
            asked = dict(request.query_params)
            run = self._runs.find(asked.get("run", ""))
            if run is None:
                return _json({"error": NO_RUN}, 404)
            try:
                return answer(run, asked)
            except ParcadeError as error:
                return _json({"error": str(error)}, 422)

        return endpoint

    def metrics(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return the columns of metrics.jsonl from a row on."""
        with self._lock:
            columns = self._columns.pop(run.name, None) or Columns(run.path / "metrics.jsonl")
            self._columns[run.name] = columns  # the one used last stands last
            while len(self._columns) > _MOST_KEPT:
                del self._columns[next(iter(self._columns))]
            columns.read_on()
            return _json(columns.told(_number(asked.get("since")), _number(asked.get("version"))))

    def csv(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return metrics.jsonl as CSV."""
        name = f"{run.path.parent.name}-{run.path.name}.csv"
        return StreamingResponse(csv_lines(run.path / "metrics.jsonl"), media_type="text/csv", headers=_saved_as(name))

    def file(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return one of a run's files as a download; a video is shown in the page."""
        name = asked.get("name", "")
        path = self._runs.file(run, name)
        if path is None or name.partition("/")[0] not in SERVED:
            return _json({"error": "there is no such file"}, 404)
        if path.suffix == ".mp4":
            return FileResponse(path, media_type="video/mp4")
        return FileResponse(path, media_type="application/octet-stream", headers=_saved_as(path.name))

    def map(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return a map that the run's title draws, of one episode's seed or of all."""
        seed = _number(asked.get("seed"))
        game = read_json(run.path / "config.json").get("game")
        drawn = self._atlas.png(str(game), None if seed < 0 else seed, asked.get("map", "")[:200])
        return _json({"error": "this map has no picture"}, 404) if drawn is None else _picture(drawn, "max-age=3600")

    def seen_map(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return what the games have shown of a map, 204 for nothing yet; its corner stands in two headers."""
        stage = self._hub.stage(run.path)
        show = None if stage is None else stage.show
        if show is None and is_live(run.path):
            return Response(status_code=204)
        seen = self._retold.of(run.path) if show is None else show.seen_maps
        found = seen.picture(asked.get("map", ""))
        if found is None:
            return Response(status_code=204)
        left, top, pixels = found
        answer = _picture(png(pixels), "no-store")
        answer.headers["x-left"], answer.headers["x-top"] = str(left), str(top)
        return answer

    def places(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return where the games of a run were last, as its folder keeps it."""
        kept = load_places(run.path)
        if kept is None:
            return _json({"pictures": None, "maps": [], "now": [], "paths": {}})
        return _json({"pictures": kept.pictures, **told(kept, asked.get("map", ""))})

    def visits(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return how often all games of a run were where on a map, as its folder keeps it."""
        kept = load_places(run.path)
        message = None if kept is None else visits_message(kept, asked.get("map", ""))
        if message is None:
            return _json({"error": "nobody was on this map"}, 404)
        return Response(message, 200, {"cache-control": "no-store"}, "application/octet-stream")

    def film(self, run: RunPlace, asked: dict[str, str]) -> Response:
        """Return a kept episode as a video."""
        number = _number(asked.get("episode"))
        folder = tempfile.mkdtemp(prefix="parcade-film-")
        path = Path(folder, f"episode_{number}.mp4")
        try:
            film(run.path, number, path)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        clean = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(path, media_type="video/mp4", headers=_saved_as(path.name), background=clean)

    async def replay(self, socket: WebSocket) -> None:
        """Serve the websocket of one episode that is played again."""
        run = await self._asked_run(socket)
        if run is None:
            return
        await self._replays.serve(socket, run.path, _number(socket.query_params.get("episode")))

    async def socket(self, socket: WebSocket) -> None:
        """Serve the websocket of one run."""
        run = await self._asked_run(socket)
        if run is not None:
            await self._hub.serve(socket, run.path)

    async def _asked_run(self, socket: WebSocket) -> RunPlace | None:
        """Return the run that a websocket asks for; one that is not there is told in words."""
        run = self._runs.find(socket.query_params.get("run", ""))
        if run is None:
            await refuse(socket, NO_RUN)
        return run


def make_app(runs: Runs, door: Door, *, share: float | None = None) -> Starlette:
    """Return the server as an ASGI application."""
    page = Page(runs, Hub(share=share))
    guards = [Middleware(Guard, door=door), Middleware(GZipMiddleware, minimum_size=2000, compresslevel=3)]
    return Starlette(routes=page.routes(), middleware=guards)


def _json(data: Any, status: int = 200) -> Response:
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Response(text, status, {"cache-control": "no-store"}, "application/json")


def _picture(data: bytes, cached: str) -> Response:
    return Response(data, 200, {"cache-control": cached}, "image/png")


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 12 else -1


def _saved_as(name: str) -> dict[str, str]:
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
    return {"content-disposition": f'attachment; filename="{plain}"'}
