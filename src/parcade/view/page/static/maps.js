// Where every game is, and where all have been: of a running training, or as a run's folder kept it.

import { address, ask } from "./api.js";
import { inflated, visits } from "./channel.js";
import { h, say, set } from "./dom.js";
import { brief, sentence, spoken, whole } from "./format.js";
import { MapCanvas, heat } from "./map_canvas.js";

const SEEN_EVERY_MS = 3000;
const MOST_WAYS = 24; // games whose ways can be told apart

export class Maps {
  constructor(app) {
    this.app = app;
    this.live = app.live;
    this._map = null;
    this._slot = null;
    this._places = null;
    this._kept = null; // what the run's folder holds, where no training runs
    this._canvas = new MapCanvas();
    this._canvas.heat = Number(localStorage.getItem("heat") ?? 0.8);
    this._build();
    this._abort = new AbortController();
    const { signal } = this._abort;
    const { live } = this;
    live.addEventListener("places", (event) => this._show(event.detail), { signal });
    live.addEventListener("visits", (event) => this._takeVisits(event.detail), { signal });
    live.addEventListener("detail", (event) => this._takeDetail(event.detail), { signal });
    for (const kind of ["about", "over", "problem"]) live.addEventListener(kind, () => this._open(), { signal });
    window.addEventListener("resize", () => this._draw(), { signal });
    document.addEventListener("visibilitychange", () => this._open(), { signal });
    this._timer = setInterval(() => this._loadSeen(), SEEN_EVERY_MS);
    this._open();
  }

  close() {
    this._abort.abort();
    clearInterval(this._timer);
    this.live.look(null);
    this.live.lookAtMap(null);
  }

  repaint() {
    this._draw();
  }

  tick() {
    this._open();
  }

  _build() {
    this._note = h("p", { class: "note" });
    const { element } = this._canvas;
    element.addEventListener("click", (event) => this._click(event));
    element.addEventListener("pointermove", (event) => this._hover(event));
    this._stage = h("div", { class: "map-stage" }, element);
    this._list = h("div", { class: "map-list" });
    this._games = h("div", { class: "map-games" });
    this._gamesTitle = h("h2", {});
    this._side = h("aside", { class: "map-side" }, h("div", { class: "card" }, h("h2", {}, "Maps", h("small", {}, "games · visits")), this._list), h("div", { class: "card" }, this._gamesTitle, this._games));
    const slider = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: this._canvas.heat, "aria-label": "heat", oninput: (event) => this._setHeat(event.target.value) });
    this._scale = h("canvas", { class: "heat-scale", width: 128, height: 8 });
    drawScale(this._scale);
    this._tools = h("div", { class: "tools" }, h("span", { class: "inline" }, "seldom", this._scale, "often"), h("label", { class: "inline" }, "heat", slider));
    this._body = h("div", { class: "map-columns" });
    this.element = h("section", {}, h("div", { class: "toolbar" }, h("h1", { class: "view-title" }, "Map"), this._note, this._tools), this._body);
  }

  _setHeat(value) {
    this._canvas.heat = Number(value);
    localStorage.setItem("heat", value);
    this._draw();
  }

  _open() {
    const { live } = this;
    if (live.isOver) return this._openKept();
    if (!live.about) return this._showEmpty(live.problem ? "This cannot be watched" : "Looking for the training …", sentence(live.problem));
    if (!live.about.maps) return this._showEmpty(`${live.about.label} has no map`, "Titles that say where their hero is have one: `place` in docs/add-a-game.md.");
    this._kept = null;
    this._arrange();
    live.lookAtMap(document.hidden ? null : (this._map ?? ""));
  }

  /** Show what the run's folder holds; a training that has just ended leaves its last moment standing. */
  async _openKept() {
    if (this._kept) return;
    let kept;
    try {
      kept = await ask("places", { run: this.app.run, map: this._map ?? "" });
    } catch (error) {
      return this._showEmpty("This run's map cannot be read", sentence(error.message));
    }
    if (!this.live.isOver) return;
    this._kept = kept;
    if (!kept.maps.length) return this._showEmpty("This run has no map", "Titles that say where their hero is have one, once their games have moved.");
    this._arrange();
    this._show(kept);
    if (this._map) this._loadKeptMap();
  }

  async _loadKeptMap() {
    const { run } = this.app;
    const map = this._map;
    const [kept, answer] = await Promise.all([ask("places", { run, map }).catch(() => null), fetch(address("visits", { run, map })).catch(() => null)]);
    if (map !== this._map || !this._kept) return;
    if (answer?.ok) this._takeVisits(visits(await inflated(await answer.arrayBuffer(), 8)));
    if (kept) this._show(kept);
  }

  _showEmpty(title, text) {
    if (this._places && this._stage.isConnected) return;
    this._tools.hidden = true;
    set(this._body, h("div", { class: "empty" }, h("h1", {}, title), text ? h("p", {}, text) : null));
  }

  _arrange() {
    this._tools.hidden = false;
    if (!this._stage.isConnected || !this._side.isConnected) set(this._body, this._stage, this._side);
  }

  /** Where pictures of maps come from: "drawn" by the title, "seen" in the games, or "plain". */
  get _pictures() {
    return this._kept ? this._kept.pictures : this.live.about?.maps;
  }

  _show(places) {
    this._places = places;
    const maps = places.maps.toSorted((a, b) => b.here - a.here || b.visits - a.visits);
    if (this._map === null && maps.length) return this._choose(maps[0].name);
    const row = (map) => h("button", { class: `map-row${map.name === this._map ? " is-chosen" : ""}`, onclick: () => this._choose(map.name) }, h("span", {}, spoken(map.name)), h("b", { title: "games here" }, map.here ? whole(map.here) : ""), h("small", { title: "visits" }, brief(map.visits)));
    set(this._list, maps.map(row));
    const here = this._here();
    say(this._gamesTitle, this._kept ? "Games that ended here" : "Games here");
    set(this._games, here.length ? here.map(({ slot }) => h("button", { class: `chip-button${slot === this._slot ? " is-chosen" : ""}`, onclick: () => this._pick(slot) }, String(slot))) : h("p", { class: "note" }, "none"));
    const known = places.now.filter(Boolean).length;
    const count = `${whole(known)} ${known === 1 ? "game" : "games"} on ${places.maps.length} ${places.maps.length === 1 ? "map" : "maps"}`;
    this._count = this._kept ? `${count}, as the training left them` : count;
    this._showNote();
    this._draw();
  }

  /** The first picture of a map takes seconds: dungeons are built for it. */
  _showNote() {
    const isComing = this._pictures === "drawn" && this._map && !this._canvas.picture && !this._isWithout;
    say(this._note, `${this._count ?? ""}${isComing ? "; drawing the map …" : ""}`);
  }

  _here() {
    const index = this._places?.maps.findIndex((map) => map.name === this._map) ?? -1;
    if (index < 0) return [];
    return this._places.now.flatMap((place, slot) => (place && place[0] === index ? [{ slot, place: place.slice(1), path: this._places.paths[slot], isChosen: slot === this._slot, isDim: this._slot !== null && slot !== this._slot }] : [])).map((game, _, all) => (all.length > MOST_WAYS && !game.isChosen ? { ...game, path: null } : game));
  }

  _choose(name) {
    this._map = name;
    this._canvas.visits = this._canvas.picture = null;
    this._pick(null);
    if (this._kept) this._loadKeptMap();
    else this.live.lookAtMap(name);
  }

  /** Follow one game: its way, and the map of its own episode. */
  _pick(slot) {
    this._slot = slot === this._slot ? null : slot;
    this._seed = null;
    this.live.look(this._slot);
    this._loadPicture();
    if (this._kept && this._places) this._show(this._places);
    else this._draw();
  }

  _takeDetail(told) {
    if (told.slot !== this._slot || told.begun_with === this._seed) return;
    this._seed = told.begun_with;
    this._loadPicture();
  }

  async _loadPicture() {
    if (this._pictures !== "drawn" || !this._map) return this._loadSeen();
    const wanted = `${this._map}|${this._seed ?? ""}`;
    this._wanted = wanted;
    this._isWithout = false;
    const image = new Image();
    image.src = address("map", { run: this.app.run, map: this._map, ...(this._seed !== null && this._seed !== undefined ? { seed: this._seed } : {}) });
    const isThere = await image.decode().then(() => true, () => false);
    if (this._wanted !== wanted) return;
    this._isWithout = !isThere;
    if (!isThere) return this._showNote();
    this._canvas.picture = { image, left: 0, top: 0, isWhole: true };
    this._canvas.element.dataset.map = this._map; // the map whose picture is there
    this._showNote();
    this._draw();
  }

  async _loadSeen() {
    if (this._pictures !== "seen" || !this._map || document.hidden) return;
    const name = this._map;
    const answer = await fetch(address("seen_map", { run: this.app.run, map: name })).catch(() => null);
    if (answer?.status !== 200) return;
    const image = await createImageBitmap(await answer.blob());
    if (name !== this._map) return;
    this._canvas.picture = { image, left: Number(answer.headers.get("x-left")), top: Number(answer.headers.get("x-top")) };
    this._draw();
  }

  _takeVisits(told) {
    this._canvas.visits = told;
    this._draw();
  }

  _draw() {
    if (!this._stage.isConnected) return;
    this._canvas.draw(this._stage.clientWidth - 32, Math.max(260, window.innerHeight - 190), this._here());
  }

  _click(event) {
    const dot = this._canvas.dotAt(event);
    if (dot && dot.slot === this._slot && !this._kept) return this.app.go({ view: "games", slot: dot.slot });
    if (dot) this._pick(dot.slot);
    else if (this._slot !== null) this._pick(null);
  }

  _hover(event) {
    const dot = this._canvas.dotAt(event);
    const { element } = this._canvas;
    element.style.cursor = dot ? "pointer" : "";
    element.title = dot ? `game ${dot.slot}${dot.slot === this._slot && !this._kept ? ": click again to watch it" : ""}` : "";
  }
}

function drawScale(canvas) {
  const context = canvas.getContext("2d");
  for (let x = 0; x < canvas.width; x++) {
    const [r, g, b] = heat(x / canvas.width);
    context.fillStyle = `rgb(${r},${g},${b})`;
    context.fillRect(x, 0, 1, canvas.height);
  }
}
