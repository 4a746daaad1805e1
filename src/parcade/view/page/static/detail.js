// One game of a running training, large.

import { h, icon } from "./dom.js";
import { fixed, whole } from "./format.js";
import { Panels, pairs } from "./panels.js";

export class Detail {
  constructor(app, slot) {
    this.app = app;
    this.live = app.live;
    this.slot = slot;
    this._panels = new Panels();
    this._build();
    this._abort = new AbortController();
    const { signal } = this._abort;
    this.live.addEventListener("picture", (event) => event.detail === slot && this._panels.paint(this.live.tiles.get(slot)), { signal });
    this.live.addEventListener("detail", (event) => event.detail.slot === slot && this._show(event.detail), { signal });
    this.live.addEventListener("seen", (event) => this._panels.showSeen(event.detail.filter((leaf) => leaf.slot === slot)), { signal });
    this.live.addEventListener("value", (event) => event.detail.slot === slot && this._value(event.detail), { signal });
    window.addEventListener("resize", () => this.layOut(), { signal });
    document.addEventListener("keydown", (event) => this._key(event), { signal });
    this._panels.paint(this.live.tiles.get(slot));
  }

  close() {
    this._abort.abort();
  }

  layOut() {
    this._panels.layOut();
  }

  _build() {
    const step = (by) => () => this._step(by);
    const head = h("div", { class: "toolbar is-tight" },
      h("button", { class: "icon-button", title: "All games (Escape)", "aria-label": "all games", onclick: () => this.app.go({ slot: null }) }, icon("left")),
      h("h1", { class: "view-title" }, `Game ${this.slot}`),
      h("div", { class: "tools" }, h("button", { class: "icon-button", title: "The game before (←)", "aria-label": "the game before", onclick: step(-1) }, icon("left")), h("button", { class: "icon-button", title: "The next game (→)", "aria-label": "the next game", onclick: step(1) }, icon("right"))),
    );
    const { stage, facts, main, side } = this._panels;
    this.element = h("section", { class: "detail" }, head, h("div", { class: "detail-columns" }, h("div", { class: "detail-main" }, stage, facts, main), h("div", { class: "detail-side" }, side)));
  }

  _show(told) {
    this._panels.about = this.live.about ?? {};
    pairs(this._panels.facts, { episode: whole(told.episode), step: whole(told.step), return: fixed(told.return), seed: told.seed });
    this._panels.show({ ...told, value: told.value ?? this._valued ?? null });
  }

  /** A small policy plays without its critic; then a saved one says what it expects, of a moment just past. */
  _value({ value, env_steps }) {
    this._valued = value;
    this._panels.valuedBy = `; by the policy as it was saved at ${whole(env_steps)} steps`;
  }

  _step(by) {
    const n = this.live.about?.n_envs ?? 1;
    this.app.go({ slot: (this.slot + by + n) % n });
  }

  _key(event) {
    if (event.target.closest("input, select, textarea")) return;
    if (event.key === "Escape") this.app.go({ slot: null });
    else if (event.key === "ArrowLeft") this._step(-1);
    else if (event.key === "ArrowRight") this._step(1);
  }
}
