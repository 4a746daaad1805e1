// What is known of one moment of a game: its picture, what the policy sees, expects and chooses, its pay, its memory.

import { reference } from "./colours.js";
import { h, s, say, set } from "./dom.js";
import { fixed, number, spoken } from "./format.js";

const STRIP = { width: 720, height: 96, steps: 120 };

/** The parts of a detail view: of a game that is being trained, or of an episode that is played again. */
export class Panels {
  constructor() {
    this.about = {};
    this.valuesOf = "each step of the last rollout"; // whose values are drawn as a line
    this.valuedBy = ""; // where it is not the policy that plays
    this.chosenBy = h("div", { class: "chosen-by" }); // of a replay: which policy is asked
    this._canvas = h("canvas", { class: "large", width: 160, height: 144 });
    this.stage = h("div", { class: "stage" }, this._canvas);
    this.facts = h("dl", { class: "facts" });
    this._words = h("p", { class: "words" });
    this._strip = h("div", { class: "strip" });
    this._legend = h("div", { class: "legend" });
    this._seen = h("div", { class: "seen" });
    this._choice = h("div", { class: "choice" });
    this._value = h("div", { class: "value" });
    this._metrics = h("dl", { class: "pairs" });
    this._fields = h("dl", { class: "pairs is-dense" });
    this._cards = {
      seen: card("What the policy sees", this._seen),
      choice: card("What it chose from", this._choice, this.chosenBy),
      value: card("What it expects", this._value),
      metrics: card("So far in this episode", this._metrics),
      fields: card("What memory means", this._fields),
    };
    for (const one of Object.values(this._cards)) one.hidden = true;
    this.main = [this._words, h("div", { class: "card" }, h("h2", {}, "What it was paid for"), this._strip, this._legend), this._cards.fields];
    this.side = [this._cards.seen, this._cards.choice, this._cards.value, this._cards.metrics];
  }

  /** Show a picture of the live connection. */
  paint(picture) {
    if (!picture) return;
    if (this._canvas.width !== picture.width || this._canvas.height !== picture.height) {
      this._canvas.width = picture.width;
      this._canvas.height = picture.height;
      this.layOut();
    }
    this._canvas.getContext("2d", { alpha: false }).putImageData(picture.image, 0, 0);
  }

  /** Show the picture as large as whole pixels allow. */
  layOut() {
    const { width, height } = this._canvas;
    const ratio = window.devicePixelRatio || 1;
    const room = ((this.stage.clientWidth || 480) - 24) * ratio;
    const tall = Math.max(height, Math.min(900, window.innerHeight - 260)) * ratio;
    const scale = Math.max(1, Math.floor(Math.min(room / width, tall / height)));
    this._canvas.style.width = `${(width * scale) / ratio}px`;
    this._canvas.style.height = `${(height * scale) / ratio}px`;
  }

  show(told) {
    say(this._words, told.words ?? (told.place ? `${told.place[0]}, column ${told.place[1]}, row ${told.place[2]}` : ""));
    this._showStrip(told.strip ?? []);
    this._showChoice(told.choice);
    this._showValue(told.value ?? null, told.values ?? []);
    this._showPairs("metrics", this._metrics, told.metrics ?? {});
    this._showPairs("fields", this._fields, told.fields ?? {});
    this._showVectors(told.vectors ?? {});
  }

  _showPairs(name, list, values) {
    this._cards[name].hidden = !Object.keys(values).length;
    pairs(list, Object.fromEntries(Object.entries(values).map(([key, value]) => [spoken(key), shown(value)])));
  }

  /** The parts of each step's reward, stacked: what was gained above the line, what was lost below it. */
  _showStrip(strip) {
    const names = this.about.reward_parts ?? [];
    const { width, height } = STRIP;
    const sums = strip.map(([, reward, parts]) => stack(Object.keys(parts).length ? parts : { reward }));
    const most = Math.max(0.05, ...sums.map(({ up }) => up));
    const least = Math.max(0.05, ...sums.map(({ down }) => down));
    const zero = (height * most) / (most + least);
    const each = width / STRIP.steps;
    const bars = [];
    const totals = {};
    sums.forEach(({ parts }, index) => {
      let [up, down] = [zero, zero];
      for (const [name, value] of parts) {
        totals[name] = (totals[name] ?? 0) + value;
        const size = (Math.abs(value) * height) / (most + least);
        const y = value > 0 ? (up -= size) : ((down += size), down - size);
        bars.push(s("rect", { x: ((STRIP.steps - sums.length + index) * each).toFixed(1), y: y.toFixed(2), width: Math.max(1, each - 1).toFixed(1), height: size.toFixed(2), fill: part(names, name) }));
      }
    });
    const line = s("line", { x1: 0, x2: width, y1: zero.toFixed(1), y2: zero.toFixed(1), class: "zero" });
    set(this._strip, s("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "reward of the last steps" }, bars, line));
    const entries = Object.entries(totals).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    set(this._legend, entries.length ? entries.map(([name, value]) => h("span", { class: "key" }, h("i", { style: { background: part(names, name) } }), spoken(name), h("b", {}, `${value > 0 ? "+" : ""}${number(value)}`))) : h("span", { class: "note" }, "nothing yet"));
  }

  _showChoice(choice) {
    this._cards.choice.hidden = !choice && !this.chosenBy.childElementCount;
    if (!choice) return set(this._choice);
    const names = this.about.actions ?? [];
    const taken = choice.taken ?? [];
    if (choice.chances) {
      set(this._choice, choice.chances.map((chances, index) => h("div", { class: "chances" }, chances.map((chance, action) => chanceRow(index === 0 && names[action] ? names[action].name : String(action), chance, taken[index] === action)))));
    } else if (choice.switches) {
      set(this._choice, h("div", { class: "chances" }, choice.switches.map((chance, index) => chanceRow(String(index), chance, Boolean(taken[index])))));
    } else if (choice.ranges) {
      set(this._choice, choice.ranges.map((range, index) => rangeRow(range, taken[index], index)));
    } else {
      set(this._choice, h("p", { class: "note" }, `action ${taken.map((value) => (names[value] ? names[value].name : number(value))).join(", ")}`));
    }
  }

  _showValue(value, values) {
    const known = values.filter((one) => one !== null);
    this._cards.value.hidden = value === null && !known.length;
    const parts = [];
    if (value !== null) parts.push(h("p", { class: "big" }, fixed(value)), h("p", { class: "note" }, `return expected from here on, discounted${this.valuedBy}`));
    if (known.length) parts.push(sparkline(values), h("p", { class: "note" }, `value of ${this.valuesOf}: ${number(Math.min(...known))} to ${number(Math.max(...known))}`));
    set(this._value, parts);
  }

  _showVectors(vectors) {
    const entries = Object.entries(vectors);
    if (!entries.length) return;
    this._cards.seen.hidden = false;
    const names = this.about.feature_names;
    const drawn = entries.map(([leaf, values]) => h("div", {}, entries.length > 1 ? h("p", { class: "note" }, leaf) : null, bars(values, names && names.length === values.length ? names : null, leaf)));
    if (!this._vectorBox) this._seen.append((this._vectorBox = h("div", {})));
    set(this._vectorBox, drawn);
  }

  showSeen(mine) {
    if (!mine.length) return;
    this._cards.seen.hidden = false;
    const channels = this.about.channels ?? 1;
    const frames = mine.flatMap((leaf) => Array.from({ length: leaf.planes / channels }, (_, index) => [leaf, index]));
    if (!this._frames || this._frames.length !== frames.length) {
      this._frames = frames.map(([leaf]) => h("canvas", { width: leaf.width, height: leaf.height }));
      this._frameBox?.remove();
      this._seen.prepend((this._frameBox = h("div", { class: "frames" }, this._frames)));
    }
    frames.forEach(([leaf, index], at) => paintPlanes(this._frames[at], leaf, index * channels, channels));
  }
}

export const card = (title, ...children) => h("div", { class: "card" }, h("h2", {}, title), children);

const shown = (value) => (typeof value === "number" ? number(value) : typeof value === "boolean" ? (value ? "yes" : "no") : String(value));

/** Names and values; the elements stay, only texts change. */
export function pairs(list, values) {
  const names = Object.keys(values);
  if (list.dataset.names !== names.join("|")) {
    list.dataset.names = names.join("|");
    set(list, names.map((name) => h("div", {}, h("dt", {}, name), h("dd", {}))));
  }
  names.forEach((name, index) => say(list.children[index].lastChild, String(values[name])));
}

function stack(parts) {
  const entries = Object.entries(parts).filter(([, value]) => value);
  const up = entries.reduce((sum, [, value]) => sum + Math.max(0, value), 0);
  const down = entries.reduce((sum, [, value]) => sum + Math.max(0, -value), 0);
  return { parts: entries, up, down };
}

const part = (names, name) => reference(Math.max(0, names.indexOf(name)));

function chanceRow(name, chance, isTaken) {
  return h("div", { class: `chance${isTaken ? " is-taken" : ""}` }, h("span", { class: "name" }, name), h("span", { class: "track" }, h("i", { style: { "--done": chance.toFixed(3) } })), h("span", { class: "share" }, `${(100 * chance).toFixed(0)} %`));
}

function rangeRow(range, taken, index) {
  const low = range.low ?? range.mean - 3 * range.spread;
  const high = range.high ?? range.mean + 3 * range.spread;
  const at = (value) => Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
  return h("div", { class: "range" }, h("span", { class: "name" }, `axis ${index}`),
    h("span", { class: "track" }, h("i", { class: "spread", style: { left: `${100 * at(range.mean - range.spread)}%`, right: `${100 - 100 * at(range.mean + range.spread)}%` } }), taken === undefined ? null : h("i", { class: "needle", style: { left: `${100 * at(taken)}%` } })),
    h("span", { class: "share" }, taken === undefined ? "" : number(taken)));
}

function sparkline(values) {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const [width, height] = [280, 48];
  const points = values.map((value, index) => (value === null ? null : `${((index * width) / Math.max(1, values.length - 1)).toFixed(1)},${(height - 2 - ((value - low) / (high - low || 1)) * (height - 4)).toFixed(1)}`)).filter(Boolean);
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "values of the last steps" }, s("polyline", { points: points.join(" ") }));
}

/** Numbers as bars, up if positive and down if negative; 1 and more fills the half. */
function bars(values, names, leaf) {
  const [width, height] = [Math.max(1, values.length), 40];
  const rects = values.map((value, index) => {
    const size = Math.min(1, Math.abs(value ?? 0)) * (height / 2);
    return s("rect", { x: index + 0.1, width: 0.8, y: value > 0 ? height / 2 - size : height / 2, height: size, class: value > 0 ? "up" : "down" }, s("title", {}, `${names ? spoken(names[index]) : `${leaf} ${index}`}: ${number(value)}`));
  });
  return s("svg", { class: "bars", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "numbers the policy sees" }, s("line", { x1: 0, x2: width, y1: height / 2, y2: height / 2, class: "zero" }), rects);
}

function paintPlanes(canvas, leaf, first, channels) {
  const size = leaf.width * leaf.height;
  const image = new ImageData(leaf.width, leaf.height);
  for (let i = 0; i < size; i++) {
    for (let channel = 0; channel < 3; channel++) image.data[i * 4 + channel] = leaf.pixels[(first + Math.min(channel, channels - 1)) * size + i];
    image.data[i * 4 + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
