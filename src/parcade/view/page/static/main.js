// The frame of the page: which run, which view, and how the training is doing.

import { ask, isAway } from "./api.js";
import { Curves } from "./curves.js";
import { h, icon, say, set } from "./dom.js";
import { Episodes } from "./episodes.js";
import { brief, duration, fixed, stamp, whole } from "./format.js";
import { Games } from "./games.js";
import { Live } from "./live.js";
import { Maps } from "./maps.js";
import { RunView } from "./run.js";

const VIEWS = { games: ["Games", Games], curves: ["Curves", Curves], map: ["Map", Maps], episodes: ["Episodes", Episodes], run: ["Run", RunView] };
const RUNS_EVERY_MS = 4000;

class App {
  constructor(root) {
    this.root = root;
    this.runs = [];
    this.live = null;
    this.facts = null; // of the run: settings, files, machine
    this.view = null;
    this._speed = new Speed();
    this._build();
    window.addEventListener("hashchange", () => this._follow());
    this._start();
  }

  get run() {
    return this.place.get("run") ?? "";
  }

  get place() {
    return new URLSearchParams(location.hash.slice(1));
  }

  /** Go somewhere: go({view: "games", slot: 3}); what is not named stays, null leaves it out. */
  go(changes) {
    const place = this.place;
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) place.delete(name);
      else place.set(name, String(value));
    }
    location.hash = place.toString();
  }

  async _start() {
    await this._loadRuns();
    this._follow();
    setInterval(() => this._loadRuns(), RUNS_EVERY_MS);
  }

  async _loadRuns() {
    try {
      const { runs, root } = await ask("runs");
      this.runs = runs;
      this.rootName = root;
      this._isAway = false;
    } catch {
      this._isAway = true;
    }
    this._showRun();
    this._showStatus();
    this.view?.tick?.();
  }

  get card() {
    return this.runs.find((run) => run.name === this.run) ?? null;
  }

  _build() {
    this._tabs = Object.entries(VIEWS).map(([name, [title]]) =>
      h("a", { class: "tab", href: "#", data: { view: name }, onclick: (event) => (event.preventDefault(), this.go({ view: name, slot: null, episode: null })) }, icon(name), h("span", {}, title)),
    );
    this._name = h("span", { class: "run-name" });
    this._when = h("span", { class: "run-when" });
    this._chooser = h("button", { class: "chooser", "aria-haspopup": "listbox", onclick: () => this._toggleRuns() }, h("span", { class: "run-text" }, this._name, this._when), icon("down"));
    this._dot = h("i", { class: "dot" });
    this._phase = h("span", { class: "phase" });
    this._rate = h("span", { class: "rate" });
    this._state = h("div", { class: "state", role: "status" }, this._dot, this._phase, this._rate);
    this._theme = h("button", { class: "icon-button", title: "Light or dark", "aria-label": "Light or dark", onclick: () => this._switchTheme() });
    this._bar = h("i", { class: "progress" });
    this._panel = h("div", { class: "runs-panel", hidden: true });
    this._main = h("main", {});
    const brand = h("a", { class: "brand", href: "#", title: "Parcade", onclick: (event) => (event.preventDefault(), this.go({ view: "games", slot: null, episode: null })) }, h("img", { src: "static/icon.svg", alt: "", width: 22, height: 22 }), h("b", {}, "Parcade"));
    const header = h("header", { class: "top" }, brand, this._chooser, h("nav", { class: "tabs" }, this._tabs), h("div", { class: "right" }, this._state, this._theme), this._bar);
    set(this.root, header, this._panel, this._main);
    this._applyTheme(localStorage.getItem("theme"));
    document.addEventListener("click", (event) => {
      if (!this._panel.hidden && !this._panel.contains(event.target) && !this._chooser.contains(event.target)) this._panel.hidden = true;
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this._panel.hidden = true;
    });
  }

  _follow() {
    const run = this.run;
    const name = VIEWS[this.place.get("view")] ? this.place.get("view") : "games";
    if (run !== this.live?.run) {
      this.live?.close();
      this.live = run ? this._opened(new Live(run)) : null;
      this.facts = null;
      this._speed = new Speed();
      this._closeView();
      this._loadFacts();
    }
    for (const tab of this._tabs) tab.classList.toggle("is-chosen", tab.dataset.view === name);
    if (this._viewName !== name) {
      this._closeView();
      this._viewName = name;
      if (run) {
        this.view = new VIEWS[name][1](this);
        set(this._main, this.view.element);
        window.scrollTo(0, 0);
      }
    }
    if (!run) this._showNothing();
    this.view?.follow?.(this.place);
    this._showRun();
    this._showStatus();
  }

  _closeView() {
    this.view?.close?.();
    this.view = null;
    this._viewName = null;
  }

  _opened(live) {
    for (const kind of ["about", "status", "over", "problem", "connection"]) live.addEventListener(kind, () => this._showStatus());
    live.addEventListener("over", () => this._loadFacts());
    live.addEventListener("status", () => this._speed.note(live.status.env_steps, performance.now()));
    return live;
  }

  async _loadFacts() {
    const run = this.run;
    if (!run) return;
    try {
      const facts = await ask("run", { run });
      if (run === this.run) this.facts = facts;
    } catch (error) {
      if (run === this.run && !isAway(error)) this.facts = { problem: error.message };
    }
    this.view?.tick?.();
  }

  _showNothing() {
    this._closeView();
    const words = this._isAway ? "The server does not answer." : "There is no run here yet.";
    set(this._main, h("div", { class: "empty" }, h("h1", {}, words), this._isAway ? null : h("p", {}, "Start one and it appears here:"), this._isAway ? null : h("pre", {}, "parcade train")));
  }

  _showRun() {
    const card = this.card;
    const parts = this.run.split("/");
    say(this._name, parts.slice(0, -1).join("/") || card?.game || "no run");
    say(this._when, this.run ? stamp(parts.at(-1)) : "");
    document.title = this.run ? `${card?.game ?? parts[0]} · Parcade` : "Parcade";
    if (!this._panel.hidden) this._listRuns();
    if (!this.run && this.runs.length) this._chooseRun();
  }

  /** Where the address names no run: a training that goes on, with its games; else the newest run, with its curves. */
  _chooseRun() {
    const chosen = this.runs.find((run) => run.is_live || run.is_opening) ?? this.runs[0];
    const view = chosen.is_live || chosen.is_opening ? "games" : "curves";
    history.replaceState(null, "", `#${new URLSearchParams({ run: chosen.name, view: this.place.get("view") ?? view })}`);
    this._follow();
  }

  _showStatus() {
    const live = this.live;
    const status = live?.status;
    const isLive = Boolean(live?.about) && !live.isOver && live.isOpen;
    const total = live?.about?.total_timesteps ?? this.card?.total_timesteps;
    const steps = isLive && status ? status.env_steps : (this.card?.env_steps ?? 0);
    const phase = this._phaseWords(live, isLive, status);
    this._state.dataset.state = phase.state;
    say(this._phase, phase.words);
    const speed = this._speed.perSecond;
    say(this._rate, isLive && speed ? `${whole(speed)} steps/s` : "");
    this._bar.style.setProperty("--done", total ? Math.min(1, steps / total).toFixed(4) : "0");
    // The mean of the whole training: the speed of a moment doubles and halves between playing and learning.
    const mean = this.card?.seconds ? this.card.env_steps / this.card.seconds : speed;
    this.timing = { steps, total, speed, isLive, left_s: mean && total ? Math.max(0, total - steps) / mean : null };
    this._state.title = total ? `${whole(steps)} of ${whole(total)} steps${isLive && this.timing.left_s !== null ? `, ${duration(this.timing.left_s)} left` : ""}` : "";
  }

  _phaseWords(live, isLive, status) {
    if (this._isAway) return { state: "away", words: "connecting" };
    if (live?.problem) return { state: "bad", words: "cannot be watched" };
    if (live && !live.isOpen) return { state: "away", words: "connecting" };
    if (isLive && status) return { state: status.phase, words: status.phase };
    if (isLive) return { state: "opening", words: "opening" };
    if (this.card?.is_opening) return { state: "opening", words: "starting" };
    if (this.card?.is_finished) return { state: "over", words: "finished" };
    return { state: "over", words: this.run ? "not running" : "" };
  }

  _toggleRuns() {
    this._panel.hidden = !this._panel.hidden;
    if (!this._panel.hidden) this._listRuns();
  }

  _listRuns() {
    const rows = this.runs.map((run) =>
      h("button", { class: `run-row${run.name === this.run ? " is-chosen" : ""}`, onclick: () => ((this._panel.hidden = true), this.go({ run: run.name, slot: null, episode: null })) },
        h("i", { class: `dot ${run.is_live ? "is-live" : ""}` }),
        h("span", { class: "run-text" }, h("span", { class: "run-name" }, run.name.split("/").slice(0, -1).join("/") || run.name), h("span", { class: "run-when" }, run.problem ?? `${stamp(run.started)} · ${run.game ?? "unknown"}`)),
        h("span", { class: "run-numbers" }, h("span", {}, `${brief(run.env_steps)} steps`), h("span", {}, run.success_rate !== null && run.success_rate !== undefined ? `success ${fixed(run.success_rate)}` : run.return_mean !== null && run.return_mean !== undefined ? `return ${fixed(run.return_mean)}` : "")),
      ),
    );
    set(this._panel, rows.length ? rows : h("p", { class: "note" }, "no runs yet"));
  }

  _applyTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    set(this._theme, icon(isDark ? "sun" : "moon"));
    this._isDark = isDark;
  }

  _switchTheme() {
    const theme = this._isDark ? "light" : "dark";
    localStorage.setItem("theme", theme);
    this._applyTheme(theme);
    this.view?.repaint?.();
  }
}

/** Steps per second over the last seconds. */
class Speed {
  constructor() {
    this._points = [];
  }

  note(steps, now) {
    const points = this._points;
    if (points.length && steps < points.at(-1)[0]) points.length = 0;
    points.push([steps, now]);
    while (points.length > 2 && now - points[0][1] > 20000) points.shift();
  }

  get perSecond() {
    const points = this._points;
    if (points.length < 2) return 0;
    const [first, last] = [points[0], points.at(-1)];
    return last[1] - first[1] > 1500 ? ((last[0] - first[0]) * 1000) / (last[1] - first[1]) : 0;
  }
}

new App(document.getElementById("app"));
