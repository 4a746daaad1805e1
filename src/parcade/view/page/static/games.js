// Every game at once, in true colours and whole-number scale; one of them large, with all that is known of it.

import { Detail } from "./detail.js";
import { h, icon, say, set } from "./dom.js";
import { fixed, sentence, whole } from "./format.js";

const SCALES = [["fit", "Fit"], ["0.5", "½×"], ["1", "1×"], ["2", "2×"], ["3", "3×"], ["4", "4×"]];
const ORDERS = { slot: "by number", return: "by return", length: "by length" };
const DOORS = [["curves", "Curves"], ["map", "Map"], ["episodes", "Episodes"], ["run", "Run"]]; // where a run that is over is seen
const CAPTION = 22; // pixels below a picture
const [GAP, WIDEST_GAP] = [10, 18];
const LEAST = 100; // pixels of a picture's width
const MOST_SCREENS = 4.5; // to scroll; more of them are worth half of the size
const SORT_EVERY_MS = 3000;

export class Games {
  constructor(app) {
    this.app = app;
    this.live = app.live;
    this._tiles = [];
    this._visible = new Set();
    this._scale = localStorage.getItem("scale") ?? "fit";
    this._order = "slot";
    this._ends = [];
    this._count = h("h1", { class: "view-title" });
    this._note = h("p", { class: "note" });
    this._scales = h("div", { class: "segments", role: "group", "aria-label": "size of the pictures" }, SCALES.map(([value, title]) => h("button", { data: { value }, onclick: () => this._setScale(value) }, title)));
    this._orders = h("select", { class: "select", "aria-label": "order", onchange: (event) => this._setOrder(event.target.value) }, Object.entries(ORDERS).map(([value, title]) => h("option", { value }, title)));
    this._grid = h("div", { class: "mosaic" });
    this._tools = h("div", { class: "tools" }, this._orders, this._scales);
    this._wall = h("section", { class: "games" }, h("div", { class: "toolbar" }, this._count, this._note, this._tools), this._grid);
    this.element = h("div", {}, this._wall);
    this._observer = new IntersectionObserver((entries) => this._see(entries), { rootMargin: "40px" });
    this._listen();
    this._build();
  }

  close() {
    this._abort.abort();
    this._observer.disconnect();
    this._detail?.close();
    this.live.look(null);
    this.live.watch([]);
    cancelAnimationFrame(this._frame);
    clearInterval(this._sorting);
  }

  /** Show one game large where the address names one. */
  follow(place) {
    const slot = place.get("slot") === null ? null : Number(place.get("slot"));
    if (this._detail && this._detail.slot === slot) return;
    this._detail?.close();
    this._detail = slot === null ? null : new Detail(this.app, slot);
    set(this.element, this._detail ? this._detail.element : this._wall);
    this._detail?.layOut();
    if (!this._detail) this._layOut();
    this._sendView();
  }

  tick() {
    if (!this.live.about) this._build();
  }

  _listen() {
    this._abort = new AbortController();
    const { signal } = this._abort;
    const { live } = this;
    live.addEventListener("about", () => this._build(), { signal });
    live.addEventListener("over", () => this._build(), { signal });
    live.addEventListener("problem", () => this._build(), { signal });
    live.addEventListener("status", () => this._showStatus(), { signal });
    live.addEventListener("picture", (event) => this._dirty(event.detail), { signal });
    live.addEventListener("size", () => this._layOut(), { signal });
    window.addEventListener("resize", () => this._layOut(), { signal });
    document.addEventListener("visibilitychange", () => this._sendView(), { signal });
    this._waiting = new Set();
    this._sorting = setInterval(() => this._sort(), SORT_EVERY_MS);
  }

  _build() {
    const { live } = this;
    const n = live.about?.n_envs ?? 0;
    if (n && n === this._tiles.length && !live.isOver) return this._showState();
    for (const tile of this._tiles) this._observer.unobserve(tile.element);
    this._visible.clear();
    this._ends = [];
    this._tiles = Array.from({ length: n }, (_, slot) => this._tile(slot));
    set(this._grid, this._tiles.map((tile) => tile.element));
    for (const tile of this._tiles) this._observer.observe(tile.element);
    say(this._count, n ? `${whole(n)} ${n === 1 ? "game" : "games"}` : "Games");
    this._tools.hidden = !n;
    this._showState();
    this._layOut();
    this._showStatus();
    for (const slot of live.tiles.keys()) this._dirty(slot);
  }

  /** Say what the pictures are: of now, or the last ones; without any, why there are none. */
  _showState() {
    const { live } = this;
    this._wall.classList.toggle("is-over", live.isOver || Boolean(live.problem));
    if (!this._tiles.length) return this._showIdle();
    say(this._note, live.problem ? sentence(live.problem) : live.isOver ? "the training is over; these are its last pictures" : "each with its number, steps and return");
  }

  _showIdle() {
    const { live } = this;
    if (live.problem) return set(this._grid, empty("This cannot be watched", sentence(live.problem)));
    if (this.app.card?.is_opening) return set(this._grid, empty("The games are starting …", "The page shows them as soon as they play."));
    if (!live.isOver) return set(this._grid, empty("Looking for the training …", ""));
    const more = this.app.card?.is_finished ? "It has finished. What it has left is in the other views:" : "No process trains it now. `parcade resume` goes on with it, and its games appear here. What it has left so far:";
    const doors = DOORS.map(([view, title]) => h("button", { class: "button", data: { door: view }, onclick: () => this.app.go({ view }) }, icon(view), title));
    set(this._grid, empty("This run is not running", more, h("div", { class: "doors" }, doors)));
  }

  _tile(slot) {
    const canvas = h("canvas", { width: 1, height: 1 });
    const [total, length, mark] = [h("span", { class: "total" }), h("span", { class: "length" }), h("span", { class: "mark" })];
    const bar = h("i", { class: "bar" });
    const element = h("button", { class: "tile", data: { slot }, "aria-label": `game ${slot}`, onclick: () => this.app.go({ slot }) }, h("span", { class: "screen" }, canvas, mark), h("span", { class: "caption" }, h("span", { class: "slot" }, slot), length, total), bar);
    return { slot, element, canvas, total, length, mark, bar };
  }

  _see(entries) {
    for (const entry of entries) {
      const slot = Number(entry.target.dataset.slot);
      if (entry.isIntersecting) this._visible.add(slot);
      else this._visible.delete(slot);
    }
    clearTimeout(this._seeing);
    this._seeing = setTimeout(() => this._sendView(), 80);
  }

  _sendView() {
    if (document.hidden) {
      this.live.watch([]);
      return this.live.look(null);
    }
    this.live.watch(this._detail ? [] : [...this._visible]);
    this.live.look(this._detail ? this._detail.slot : null);
  }

  _dirty(slot) {
    this._waiting.add(slot);
    this._frame ??= requestAnimationFrame(() => {
      this._frame = undefined;
      for (const one of this._waiting) this._paint(one);
      this._waiting.clear();
    });
  }

  _paint(slot) {
    const picture = this.live.tiles.get(slot);
    const tile = this._tiles[slot];
    if (!picture || !tile) return;
    if (tile.canvas.width !== picture.width || tile.canvas.height !== picture.height) {
      tile.canvas.width = picture.width;
      tile.canvas.height = picture.height;
    }
    tile.canvas.getContext("2d", { alpha: false }).putImageData(picture.image, 0, 0);
    tile.element.classList.add("has-picture");
  }

  _showStatus() {
    const { status, about } = this.live;
    if (!status || !this._tiles.length) return;
    const most = about?.max_steps || Math.max(...status.lengths, 1);
    for (const tile of this._tiles) {
      const { slot } = tile;
      say(tile.total, fixed(status.returns[slot]));
      say(tile.length, whole(status.lengths[slot]));
      tile.bar.style.setProperty("--done", Math.min(1, status.lengths[slot] / most).toFixed(3));
      this._showEnd(tile, status.episodes[slot], status.last[slot]);
    }
  }

  _showEnd(tile, episode, last) {
    if (!last || this._ends[tile.slot] === episode) return;
    const isFirst = this._ends[tile.slot] === undefined;
    this._ends[tile.slot] = episode;
    const [total, length, success] = last;
    tile.element.title = `last episode: return ${fixed(total)}, ${whole(length)} steps${success === null ? "" : success ? ", success" : ", no success"}`;
    tile.mark.className = `mark ${success === null ? "" : success ? "is-good" : "is-bad"}`;
    set(tile.mark, success === null ? [] : icon(success ? "check" : "cross"));
    const now = performance.now();
    if (isFirst || now - (tile.flashed ?? 0) < 4000) return;
    tile.flashed = now;
    tile.element.classList.remove("has-ended");
    void tile.element.offsetWidth; // the animation begins anew
    tile.element.classList.add("has-ended");
  }

  _setScale(value) {
    this._scale = value;
    localStorage.setItem("scale", value);
    this._layOut();
  }

  _setOrder(value) {
    this._order = value;
    this._sort();
  }

  _sort() {
    const { status } = this.live;
    if (!status || this._detail) return;
    const key = { slot: (slot) => slot, return: (slot) => -(status.returns[slot] ?? 0), length: (slot) => -status.lengths[slot] }[this._order];
    if (this._order === "slot" && !this._isSorted) return;
    this._isSorted = this._order !== "slot";
    const places = this._tiles.map((tile) => tile.slot).sort((a, b) => key(a) - key(b) || a - b);
    places.forEach((slot, place) => (this._tiles[slot].element.style.order = String(place)));
  }

  /** Choose the size: a game's pixel is a whole number of the screen's pixels, or half of one. */
  _layOut() {
    for (const button of this._scales.children) button.classList.toggle("is-chosen", button.dataset.value === this._scale);
    const first = this.live.tiles.values().next().value;
    const { width, height } = first ?? { width: 160, height: 144 };
    const ratio = window.devicePixelRatio || 1;
    const chosen = this._scale === "fit" ? this._fitting(width, height, ratio) : Number(this._scale) * Math.max(1, Math.round(ratio));
    const each = (width * chosen) / ratio;
    this._grid.style.setProperty("--tile-width", `${each}px`);
    this._grid.style.setProperty("--gap", `${this._gap(each)}px`);
    this._grid.style.setProperty("--tile-height", `${(height * chosen) / ratio}px`);
    this._grid.classList.toggle("is-halved", chosen < 1);
    this._grid.classList.toggle("is-small", (width * chosen) / ratio < 110);
  }

  _fitting(width, height, ratio) {
    const n = this._tiles.length || 1;
    const room = this._grid.clientWidth || window.innerWidth - 32;
    const tall = Math.max(300, window.innerHeight - 150);
    const least = Math.max(1, Math.ceil((LEAST * ratio) / width)); // smaller ones show nothing
    const tallAt = (scale) => Math.ceil(n / Math.max(1, Math.floor((room + GAP) / ((width * scale) / ratio + GAP)))) * ((height * scale) / ratio + CAPTION + GAP);
    for (let scale = 8 * Math.ceil(ratio); scale > least; scale--) if ((width * scale) / ratio <= room && tallAt(scale) <= tall) return scale;
    return tallAt(least) > MOST_SCREENS * tall ? least / 2 : least;
  }

  /** Share what a row leaves over, so that the games end where the page does; few games stand in the middle. */
  _gap(each) {
    const room = this._grid.clientWidth;
    const columns = Math.max(1, Math.floor((room + GAP) / (each + GAP)));
    this._grid.classList.toggle("is-few", columns >= this._tiles.length);
    const left = columns > 1 ? (room - columns * each) / (columns - 1) : GAP;
    return columns >= this._tiles.length ? GAP : Math.max(GAP, Math.min(WIDEST_GAP, Math.floor(left)));
  }
}

const empty = (title, text, more = null) => h("div", { class: "empty" }, h("h1", {}, title), text ? h("p", {}, text) : null, more);
