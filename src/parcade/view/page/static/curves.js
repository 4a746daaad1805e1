// Everything in metrics.jsonl as it grows: smoothed, by slot, and several runs over each other.

import { address, ask, download } from "./api.js";
import { Chart, smoothed } from "./chart.js";
import { colour } from "./colours.js";
import { h, icon, say, set } from "./dom.js";
import { sentence, spoken, stamp, whole } from "./format.js";

const EVERY_MS = 2000;
const MOST_RUNS = 6;
const MOST_LINES = 64; // games with a line of their own
const AXES = { env_steps: "steps", time: "time", update: "updates" };
const GROUPS = [
  ["Learning", (name) => ["return_mean", "success_rate", "length_mean"].includes(name)],
  ["The game", (name) => name.startsWith("game/")],
  ["Evaluation", (name) => name.startsWith("eval/")],
  ["Exploration", (name) => /^(explore|archive|novelty|milestones?)\//.test(name)],
  ["Losses", (name) => name.startsWith("losses/")],
  ["Episodes under way", (name) => name.startsWith("running/")],
  ["Time", (name) => name.startsWith("time/")],
  ["Other", () => true],
];
const HIDDEN = new Set(["update", "env_steps", "final"]);
const ORDER = ["return_mean", "success_rate", "length_mean"];
const TITLES = {
  return_mean: "Return",
  success_rate: "Success rate",
  length_mean: "Episode length",
  episodes: "Episodes",
  "losses/approx_kl": "KL divergence",
  "time/play_s": "Playing",
  "time/learn_s": "Learning",
  "time/eval_s": "Evaluating",
  "time/seconds": "Trained for",
  "time/steps_per_s": "Steps per second",
  "time/n_workers": "Workers",
};
const HINTS = {
  return_mean: "mean of the last 100 episodes; rings are evaluations on unseen seeds",
  success_rate: "share of the last 100 episodes that reached the goal",
  length_mean: "steps, mean of the last 100 episodes",
  "losses/policy_loss": "clipped surrogate; swings around zero",
  "losses/value_loss": "squared error of the predicted return",
  "losses/entropy": "how undecided the policy is; falls as it commits",
  "losses/approx_kl": "how far one update moved the policy",
  "losses/explained_variance": "1: every return foreseen; 0: none of it",
  "losses/clip_fraction": "share of samples stopped by the clip range",
  "time/play_s": "seconds of an update in which the games played",
  "time/learn_s": "seconds of an update in which the network learned",
  "time/eval_s": "seconds of each evaluation",
  "time/seconds": "seconds, without evaluations",
  "time/steps_per_s": "over the whole run",
  "time/worker_restarts": "workers that died and came back",
};

export class Curves {
  constructor(app) {
    this.app = app;
    this._runs = [new Rows(app.run)];
    this._weight = Number(localStorage.getItem("smoothing") ?? 0.6);
    this._axis = "env_steps";
    this._slots = null;
    this._charts = new Map();
    this._hover = new EventTarget();
    this._build();
    this._timer = setInterval(() => this._load(), EVERY_MS);
    this._load();
  }

  close() {
    clearInterval(this._timer);
    for (const chart of this._charts.values()) chart.close();
  }

  repaint() {
    this._show();
  }

  _build() {
    const slider = h("input", { type: "range", min: 0, max: 0.98, step: 0.02, value: this._weight, "aria-label": "smoothing", oninput: (event) => this._setWeight(Number(event.target.value)) });
    const axes = h("select", { class: "select", "aria-label": "horizontal axis", onchange: (event) => this._setAxis(event.target.value) }, Object.entries(AXES).map(([value, title]) => h("option", { value }, `over ${title}`)));
    this._perSlot = h("input", { type: "checkbox", onchange: () => this._toggleSlots() });
    this._perSlotWords = h("span", {}, "each game");
    this._others = h("select", { class: "select", "aria-label": "compare with another run", onchange: (event) => this._add(event.target) });
    this._chips = h("div", { class: "chips" });
    this._differences = h("div", { class: "differences" });
    this._sections = h("div", {});
    const csv = h("a", { class: "button", href: address("metrics.csv", { run: this.app.run }), download: "" }, icon("save"), "CSV");
    this.element = h("section", { class: "curves" },
      h("div", { class: "toolbar" }, h("h1", { class: "view-title" }, "Curves"), h("div", { class: "tools" }, h("label", { class: "inline" }, "smoothing", slider), h("label", { class: "inline" }, this._perSlot, this._perSlotWords), axes, this._others, csv)),
      this._chips, this._differences, this._sections);
    this._listOthers();
  }

  tick() {
    say(this._perSlotWords, this._nGames > MOST_LINES ? `the first ${MOST_LINES} games` : "each game");
    this._listOthers();
  }

  _listOthers() {
    const there = new Set(this._runs.map((rows) => rows.run));
    const names = this.app.runs.filter((run) => !there.has(run.name) && !run.problem).slice(0, 200);
    if (this._others.dataset.names === names.map((run) => run.name).join("|")) return;
    this._others.dataset.names = names.map((run) => run.name).join("|");
    set(this._others, h("option", { value: "" }, "compare with …"), names.map((run) => h("option", { value: run.name }, `${run.name.split("/").slice(0, -1).join("/") || run.game} · ${stamp(run.started)}`)));
    this._others.hidden = !names.length;
  }

  async _add(select) {
    const name = select.value;
    select.value = "";
    if (!name || this._runs.length >= MOST_RUNS) return;
    this._runs.push(new Rows(name));
    await Promise.all([this._load(), ...this._runs.map((rows) => rows.isKnown)]);
    this._showRuns();
  }

  _remove(rows) {
    this._runs = this._runs.filter((one) => one !== rows);
    this._showRuns();
    this._show();
  }

  _showRuns() {
    this._listOthers();
    const chips = this._runs.length > 1 ? this._runs.map((rows, index) => h("span", { class: "chip" }, h("i", { style: { background: colour(index) } }), rows.label, index ? h("button", { "aria-label": "remove", onclick: () => this._remove(rows) }, icon("close")) : null)) : [];
    set(this._chips, chips);
    const configs = this._runs.map((rows) => rows.config ?? {});
    const names = [...new Set(configs.flatMap(Object.keys))].filter((name) => new Set(configs.map((config) => JSON.stringify(config[name]))).size > 1);
    set(this._differences, this._runs.length > 1 ? h("div", { class: "card table-card" }, h("h2", {}, names.length ? "What differs in their settings" : "Their settings are the same"), names.length ? h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "setting"), this._runs.map((rows, index) => h("th", {}, h("i", { class: "swatch", style: { background: colour(index) } }), rows.label)))), h("tbody", {}, names.map((name) => h("tr", {}, h("th", {}, name), configs.map((config) => h("td", {}, setting(config[name]))))))) : null) : []);
  }

  _setWeight(weight) {
    this._weight = weight;
    localStorage.setItem("smoothing", String(weight));
    this._show();
  }

  /** Lines of single games are known over steps only. */
  _setAxis(axis) {
    this._axis = axis;
    this._perSlot.disabled = axis !== "env_steps";
    this._show();
  }

  get _nGames() {
    return this.app.live?.about?.n_envs ?? this.app.facts?.config?.n_envs ?? 16;
  }

  async _toggleSlots() {
    this._slots = null;
    if (this._perSlot.checked) await this._loadSlots();
    this._show();
  }

  async _loadSlots() {
    const n = Math.min(MOST_LINES, this._nGames);
    try {
      this._slots = (await ask("slots", { run: this.app.run, slots: Array.from({ length: n }, (_, slot) => slot).join(",") })).slots;
    } catch {
      this._slots = null;
    }
  }

  async _load() {
    const news = await Promise.all(this._runs.map((rows) => rows.load()));
    if (this._perSlot.checked && news[0]) await this._loadSlots();
    if (news.some(Boolean) || !this._charts.size) this._show();
  }

  _show() {
    const names = [...new Set(this._runs.flatMap((rows) => Object.keys(rows.columns)))].filter((name) => !HIDDEN.has(name) && !(name.startsWith("eval/") && this._isMark(name)));
    const wanted = names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
    if (this._names !== wanted.join("|")) {
      this._names = wanted.join("|");
      this._arrange(wanted);
    }
    for (const [name, chart] of this._charts) {
      const series = this._series(name);
      chart.show(series, this._axis);
      chart.element.dataset.points = String(series.at(-1)?.x.length ?? 0);
    }
  }

  _isMark(name) {
    return ["eval/mean_reward", "eval/std_reward", "eval/success_rate", "eval/mean_length", "eval/std_length"].includes(name);
  }

  _arrange(names) {
    for (const chart of this._charts.values()) chart.close();
    this._charts.clear();
    if (!names.length) return set(this._sections, h("div", { class: "empty" }, h("h1", {}, "No numbers yet"), h("p", {}, sentence(this._runs[0].problem) || "The first update writes them.")));
    const left = new Set(names);
    const sections = GROUPS.map(([title, belongs]) => {
      const mine = [...left].filter(belongs);
      mine.forEach((name) => left.delete(name));
      return mine.length ? h("div", {}, h("h2", { class: "group" }, title), h("div", { class: `charts${title === "Learning" ? " is-wide" : ""}` }, mine.map((name) => this._chart(name, title === "Learning")))) : null;
    });
    set(this._sections, sections);
  }

  _chart(name, tall) {
    const chart = new Chart({ title: titleOf(name), hint: HINTS[name], hover: this._hover, tall });
    chart.addTool(h("button", { class: "quiet", title: "as CSV", onclick: () => this._saveCsv(name) }, "CSV"));
    chart.addTool(h("button", { class: "quiet", title: "as PNG", onclick: async () => download(`${name.replaceAll("/", "_")}.png`, await chart.png()) }, "PNG"));
    chart.element.dataset.name = name;
    this._charts.set(name, chart);
    return chart.element;
  }

  _series(name) {
    const series = this._runs.map((rows, index) => {
      const { x, y } = rows.points(name, this._axis);
      const soft = smoothed(y, this._weight);
      return { name: this._runs.length > 1 ? rows.label : titleOf(name), colour: colour(index), x, y: soft, raw: this._weight ? y : null, marks: rows.marks(name, this._axis) };
    });
    if (name === "return_mean" && this._slots && this._axis === "env_steps") {
      const lines = Object.entries(this._slots).map(([slot, points]) => ({ name: `game ${slot}`, colour: colour(3 + (Number(slot) % 5)), x: points.map((point) => point[0]), y: smoothed(points.map((point) => point[1]), Math.max(0.5, this._weight)), isThin: true }));
      return [...lines, ...series];
    }
    return series;
  }

  _saveCsv(name) {
    const lines = [`run,${this._axis},${name}`];
    for (const rows of this._runs) {
      const { x, y } = rows.points(name, this._axis);
      x.forEach((value, index) => y[index] !== null && lines.push(`${rows.run},${value},${y[index]}`));
    }
    download(`${name.replaceAll("/", "_")}.csv`, new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
  }
}

/** The columns of one run, read on as they grow. */
class Rows {
  constructor(run) {
    this.run = run;
    this.label = stamp(run.split("/").at(-1)) + (run.includes("/") ? ` · ${run.split("/").at(-2)}` : "");
    this.columns = {};
    this._n = 0;
    this._version = -1;
    this.isKnown = ask("run", { run }).then((facts) => (this.config = facts.config), () => {});
  }

  async load() {
    let told;
    try {
      told = await ask("metrics", { run: this.run, since: this._n, version: this._version });
      this.problem = "";
    } catch (error) {
      this.problem = error.message;
      return false;
    }
    const isNew = told.first === 0;
    const grows = told.n_rows > this._n || (isNew && told.version !== this._version);
    for (const [name, values] of Object.entries(told.columns)) {
      const before = isNew ? [] : (this.columns[name] ?? new Array(told.first).fill(null));
      this.columns[name] = before.slice(0, told.first).concat(values);
    }
    this._n = told.n_rows;
    this._version = told.version;
    return grows;
  }

  _axis(name) {
    return this.columns[{ time: "time/seconds", update: "update", env_steps: "env_steps" }[name]] ?? [];
  }

  points(name, axis) {
    const ys = this.columns[name] ?? [];
    const xs = this._axis(axis);
    const kept = xs.map((_, index) => index).filter((index) => ys[index] !== null && ys[index] !== undefined && xs[index] !== null);
    return { x: kept.map((index) => xs[index]), y: kept.map((index) => ys[index]) };
  }

  /** Evaluations belong to the curve of the same thing in training. */
  marks(name, axis) {
    const [mean, spread] = { return_mean: ["eval/mean_reward", "eval/std_reward"], success_rate: ["eval/success_rate"], length_mean: ["eval/mean_length", "eval/std_length"] }[name] ?? [];
    const ys = this.columns[mean] ?? [];
    const xs = this._axis(axis);
    return ys.map((y, index) => ({ x: xs[index], y, spread: this.columns[spread]?.[index] })).filter((mark) => mark.y !== null && mark.y !== undefined && mark.x !== null);
  }
}

const setting = (value) => (Number.isInteger(value) ? whole(value) : typeof value === "string" ? value : (JSON.stringify(value) ?? "–"));

const rank = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : 10);

function titleOf(name) {
  const words = TITLES[name] ?? spoken(name.includes("/") ? name.slice(name.indexOf("/") + 1) : name);
  return words[0].toUpperCase() + words.slice(1);
}
