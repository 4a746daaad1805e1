// The run itself: how far, how fast, on what, with which settings, and what it has left on disk.

import { address, ask, isAway } from "./api.js";
import { h, icon, say, set } from "./dom.js";
import { brief, bytes, duration, fixed, number, sentence, spoken, stamp, whole } from "./format.js";
import { card, pairs } from "./panels.js";

const EVERY_MS = 3000;
// What readers look for first; the others follow in the order of config.json.
const FIRST = ["game", "env_id", "rom", "state", "model", "guide", "seed", "total_timesteps", "algorithm", "observation", "n_envs", "n_workers", "num_threads", "learning_rate", "lr_schedule", "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef", "clip_range", "cnn", "hidden", "lstm", "frame_skip", "max_steps"];

export class RunView {
  constructor(app) {
    this.app = app;
    this._filter = "";
    this._build();
    this._timer = setInterval(() => this._load(), EVERY_MS);
    this._load();
  }

  close() {
    clearInterval(this._timer);
  }

  _build() {
    this._title = h("h1", { class: "view-title" }, "Run");
    this._path = h("code", { class: "path" });
    this._started = h("p", { class: "note" });
    this._tiles = h("dl", { class: "tiles" });
    this._split = h("div", { class: "split" });
    this._splitKeys = h("div", { class: "legend" });
    this._deaths = h("div", {});
    this._machine = h("dl", { class: "pairs" });
    this._made = h("dl", { class: "pairs" });
    this._command = h("pre", { class: "command" });
    this._settings = h("dl", { class: "pairs is-wide" });
    this._log = h("pre", { class: "log", tabindex: 0 });
    this._files = h("div", {});
    this._video = h("div", {});
    const search = h("input", { class: "search", type: "search", placeholder: "find a setting", "aria-label": "find a setting", oninput: (event) => ((this._filter = event.target.value), this._showSettings()) });
    this._parts = [
      h("div", { class: "toolbar" }, this._title, this._path, this._started),
      this._tiles,
      h("div", { class: "columns" },
        h("div", {}, card("Where the time goes", this._split, this._splitKeys), card("Workers", this._deaths), card("Log", this._log)),
        h("div", {}, card("Machine", this._machine), card("How it was made", this._command, this._made), this._video, card("Files", this._files), card("Settings", search, this._settings)),
      ),
    ];
    this.element = h("section", { class: "run" }, this._parts);
  }

  tick() {
    this._show();
  }

  async _load() {
    const { run } = this.app;
    try {
      const [facts, log] = await Promise.all([ask("run", { run }), ask("log", { run })]);
      this.app.facts = facts;
      this._showLog(log.text);
    } catch (error) {
      if (isAway(error)) return;
      this.app.facts = { problem: error.message };
    }
    this._show();
  }

  _show() {
    const { facts } = this.app;
    if (!facts) return;
    if (facts.problem) return set(this.element, h("div", { class: "empty" }, h("h1", {}, "This run cannot be read"), h("p", {}, sentence(facts.problem))));
    if (!this._tiles.isConnected) set(this.element, this._parts);
    say(this._path, facts.name);
    this._showTiles(facts);
    this._showSplit(facts.last?.time ?? {});
    this._showDeaths(facts);
    const { machine, manifest } = facts;
    pairs(this._machine, { cores: machine.cores, load: machine.load ?? "–", memory: bytes(machine.memory), free: bytes(machine.memory_free), processor: manifest.machine?.processor ?? "–" });
    const [program = "", ...words] = manifest.command ?? [];
    say(this._command, [program.split("/").at(-1).replace(/^main\.py$/, "parcade"), ...words].join(" "));
    say(this._started, `started ${stamp(facts.name.split("/").at(-1))}`);
    pairs(this._made, { python: manifest.python ?? "–", ...Object.fromEntries(Object.entries(manifest.packages ?? {})), commit: manifest.git?.slice(0, 10) ?? "–", "trained in": manifest.trained_in ?? "–" });
    this._showFiles(facts.files);
    this._showSettings();
  }

  _showTiles(facts) {
    const { last, config } = facts;
    const timing = this.app.timing ?? {};
    const steps = Math.max(timing.steps ?? 0, last?.env_steps ?? 0);
    const total = config.total_timesteps;
    const left_s = timing.left_s;
    const isLive = timing.isLive || facts.is_live; // the connection may be younger than the training
    const recent = (last?.episodes ?? 0) >= 100 ? "last 100 episodes" : `${whole(last?.episodes ?? 0)} episodes`;
    const tiles = [
      ["Progress", total ? `${Math.min(100, (100 * steps) / total).toFixed(1)} %` : whole(steps), `${whole(steps)} of ${whole(total)} steps`],
      ["Speed", timing.isLive && timing.speed ? whole(timing.speed) : whole(last?.time?.steps_per_s), "steps/s"],
      [isLive ? "Time left" : "Trained for", isLive ? duration(left_s) : duration(last?.time?.seconds), isLive ? `after ${duration(last?.time?.seconds)} of training` : "without evaluations"],
      ["Return", fixed(last?.return_mean ?? null), recent],
      ...(last?.success_rate === null || last?.success_rate === undefined ? [] : [["Success", `${(100 * last.success_rate).toFixed(0)} %`, recent]]),
      ["Episodes", brief(last?.episodes ?? 0), `mean length ${number(last?.length_mean ?? null)}`],
    ];
    if (this._tiles.children.length !== tiles.length) set(this._tiles, tiles.map(() => h("div", {}, h("dt", {}), h("dd", {}), h("small", {}))));
    tiles.forEach((texts, index) => texts.forEach((text, part) => say(this._tiles.children[index].children[part], String(text))));
  }

  _showSplit(time) {
    const parts = [["playing", time.play_s ?? 0], ["learning", time.learn_s ?? 0]];
    const sum = parts.reduce((all, [, seconds]) => all + seconds, 0) || 1;
    set(this._split, parts.map(([, seconds], index) => h("i", { style: { width: `${(100 * seconds) / sum}%`, background: `var(--c${index})` } })));
    set(this._splitKeys, parts.map(([name, seconds], index) => h("span", { class: "key" }, h("i", { style: { background: `var(--c${index})` } }), name, h("b", {}, `${number(seconds)} s`))), h("span", { class: "note" }, "of the last update"));
  }

  _showDeaths(facts) {
    const { deaths, last } = facts;
    const n = last?.time?.worker_restarts ?? deaths.length;
    const key = deaths.join("\n");
    if (this._deathKey === `${n}${key}`) return;
    this._deathKey = `${n}${key}`;
    set(this._deaths, deaths.length ? h("ul", { class: "deaths" }, deaths.toReversed().map((words) => h("li", {}, words))) : h("p", { class: "note" }, "No worker has died."));
  }

  _showLog(text) {
    const isAtEnd = this._log.scrollTop + this._log.clientHeight >= this._log.scrollHeight - 20;
    say(this._log, text.replace(/^\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d),\d+ (?:INFO )?/gm, "$1  ") || "the log is empty");
    if (isAtEnd) this._log.scrollTop = this._log.scrollHeight;
  }

  _showFiles(files) {
    const all = [...(files.models ?? []), ...(files.checkpoints ?? []), ...(files.videos ?? [])];
    const key = JSON.stringify(all);
    if (this._filesKey === key) return;
    this._filesKey = key;
    const { run } = this.app;
    const row = (file) => h("a", { class: "file", href: address("file", { run, name: file.name }), download: file.name.split("/").at(-1) }, icon("save"), h("span", {}, file.name), h("small", {}, bytes(file.size)));
    set(this._files, all.length ? all.slice(0, 60).map(row) : h("p", { class: "note" }, "nothing yet"));
    const film = (files.videos ?? []).find((file) => file.name.endsWith(".mp4"));
    set(this._video, film ? card("Film", h("video", { src: address("file", { run, name: film.name }), controls: true, loop: true, muted: true, playsinline: true })) : []);
  }

  _showSettings() {
    const config = this.app.facts?.config ?? {};
    const wanted = this._filter.toLowerCase();
    const told = [...new Set([...FIRST.filter((name) => name in config), ...Object.keys(config)])].map((name) => [name, settingWords(name, config[name])]);
    pairs(this._settings, Object.fromEntries(told.filter(([name, words]) => words && `${name} ${spoken(name)} ${words}`.toLowerCase().includes(wanted)).map(([name, words]) => [spoken(name), words])));
  }
}

/** A setting's value for people; "" where it was left open. */
function settingWords(name, value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (Number.isInteger(value) && name !== "seed") return whole(value);
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "object") return Object.entries(value).map(([key, part]) => `${key}=${typeof part === "object" ? JSON.stringify(part) : part}`).join(", ");
  return String(value);
}
