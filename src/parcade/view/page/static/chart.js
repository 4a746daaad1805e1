// A chart on a canvas: raw and smoothed lines, evaluation points, a crosshair that all charts share.

import { css } from "./colours.js";
import { h, say, set } from "./dom.js";
import { brief, number } from "./format.js";

const MARGIN = { left: 46, right: 12, top: 10, bottom: 22 };

/** An exponential mean that begins without bias; gaps stay gaps. */
export function smoothed(values, weight) {
  if (!weight) return values;
  let [mean, norm] = [0, 0];
  const least = 1e-9 * values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0); // what is left of a spike is none
  return values.map((value) => {
    if (value === null || value === undefined) return null;
    mean = weight * mean + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return Math.abs(mean) < least ? 0 : mean / norm;
  });
}

/** Round numbers between two limits, about `count` of them; two at least, where they differ. */
export function ticks(low, high, count) {
  const found = roundNumbers(low, high, count);
  return found.length < 2 && high > low ? roundNumbers(low, high, 2 * count) : found;
}

function roundNumbers(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= raw);
  const first = Math.ceil(low / step) * step;
  const found = [];
  // Counted, not added up: a step that is lost in rounding would never come to the end.
  for (let index = 0; index <= 2 * count; index++) {
    const value = first + index * step;
    if (value <= high + step * 1e-6) found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  }
  return found;
}

export class Chart {
  /** `hover` is an EventTarget that all charts of a view share. */
  constructor({ title, hint, hover, tall = false }) {
    this.title = title;
    this._hover = hover;
    this.series = [];
    this._canvas = h("canvas", { class: "plot" });
    this._value = h("span", { class: "chart-value" });
    this._tip = h("div", { class: "tip", hidden: true });
    this._tools = h("span", { class: "chart-tools" });
    this._box = h("div", { class: `plot-box${tall ? " is-tall" : ""}` }, this._canvas, this._tip);
    this.element = h("figure", { class: "card chart" }, h("figcaption", {}, h("b", { title: hint }, title), this._value, this._tools, hint ? h("small", {}, hint) : null), this._box);
    this._canvas.addEventListener("pointermove", (event) => this._point(event));
    this._canvas.addEventListener("pointerleave", () => hover.dispatchEvent(new CustomEvent("at", { detail: null })));
    hover.addEventListener("at", (event) => this._showAt(event.detail));
    this._observer = new ResizeObserver(() => this.draw());
    this._observer.observe(this._box);
  }

  close() {
    this._observer.disconnect();
  }

  addTool(element) {
    this._tools.append(element);
  }

  /** series: {name, colour, x, y, raw, marks: [{x, y, spread}], isThin} */
  show(series, xName) {
    this.series = series;
    this._xName = xName;
    const first = series.find((one) => !one.isThin);
    const last = first?.y.findLast((value) => value !== null && value !== undefined);
    say(this._value, last === undefined ? "" : number(last));
    this._value.style.color = first ? first.colour : "";
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this._box;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this._canvas.width = Math.round(width * ratio);
    this._canvas.height = Math.round(height * ratio);
    const context = this._canvas.getContext("2d");
    context.scale(ratio, ratio);
    this._plot(context, width, height);
  }

  /** The chart as a PNG, with its title. */
  async png() {
    const [width, height, top] = [960, 420, 40];
    const canvas = h("canvas", { width: width * 2, height: (height + top) * 2 });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.fillStyle = css("--card");
    context.fillRect(0, 0, width, height + top);
    context.fillStyle = css("--ink");
    context.font = `600 16px ${css("--sans")}`;
    context.fillText(this.title, 14, 26);
    context.font = `12px ${css("--sans")}`;
    let x = 24 + context.measureText(this.title).width * 1.5;
    for (const one of this.series.filter((item) => !item.isThin).slice(0, 6)) {
      context.fillStyle = one.colour;
      context.fillText(one.name, x, 26);
      x += context.measureText(one.name).width + 18;
    }
    context.translate(0, top);
    this._plot(context, width, height);
    this.draw();
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  _plot(context, width, height) {
    const limits = (this._limits = this._extent());
    context.font = `11px ${css("--sans")}`;
    const area = (this._area = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom });
    const rows = limits ? this._rows(area, limits) : [];
    area.left = Math.max(area.left, 14 + Math.max(0, ...rows.map((value) => context.measureText(brief(value)).width)));
    if (!limits) {
      context.fillStyle = css("--soft");
      context.textAlign = "center";
      context.fillText("no numbers yet", width / 2, height / 2);
      return;
    }
    this._grid(context, area, limits);
    context.save();
    context.beginPath();
    context.rect(area.left, 0, area.right - area.left + 4, area.bottom + 2);
    context.clip();
    for (const one of this.series) if (one.raw) this._line(context, one.x, one.raw, one.colour, 1, 0.28);
    for (const one of this.series) this._line(context, one.x, one.y, one.colour, one.isThin ? 1 : 2, one.isThin ? 0.35 : 1);
    for (const one of this.series) for (const mark of one.marks ?? []) this._mark(context, mark, one.colour);
    context.restore();
  }

  _extent() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    const take = (x, y) => {
      if (y === null || y === undefined || x === null || x === undefined) return;
      if (x < x0) x0 = x;
      if (x > x1) x1 = x;
      if (y < y0) y0 = y;
      if (y > y1) y1 = y;
    };
    for (const one of this.series) {
      one.y.forEach((y, index) => take(one.x[index], y));
      one.raw?.forEach((y, index) => take(one.x[index], y));
      one.marks?.forEach((mark) => take(mark.x, mark.y));
    }
    if (x0 > x1) return null;
    if (x0 > 0 && x0 < x1 / 4) x0 = 0; // a training begins at nothing
    if (x0 === x1) [x0, x1] = [x0 - 1, x1 + 1];
    const isFlat = y1 - y0 <= Math.abs(y1) * 1e-9; // the same number but for rounding
    const pad = isFlat ? Math.abs(y1) * 0.1 || 0.5 : (y1 - y0) * 0.06;
    return { x0, x1, y0: y0 >= 0 && y0 - pad < 0 ? 0 : y0 - pad, y1: y1 + pad };
  }

  _x = (x) => this._area.left + ((x - this._limits.x0) / (this._limits.x1 - this._limits.x0)) * (this._area.right - this._area.left);
  _y = (y) => this._area.bottom - ((y - this._limits.y0) / (this._limits.y1 - this._limits.y0)) * (this._area.bottom - this._area.top);

  _rows = (area, limits) => ticks(limits.y0, limits.y1, Math.max(2, Math.floor((area.bottom - area.top) / 42)));

  _grid(context, area, limits) {
    context.strokeStyle = css("--grid");
    context.fillStyle = css("--soft");
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of this._rows(area, limits)) {
      const y = Math.round(this._y(value)) + 0.5;
      context.beginPath();
      context.moveTo(area.left, y);
      context.lineTo(area.right, y);
      context.stroke();
      context.fillText(brief(value), area.left - 8, y);
    }
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const words = this._xName === "time" ? minutes : brief;
    let before = null; // a short span has several marks with one name
    for (const value of ticks(limits.x0, limits.x1, Math.max(3, Math.floor((area.right - area.left) / 80)))) {
      const x = this._x(value);
      if (x < area.left - 1 || x > area.right + 1 || words(value) === before) continue;
      context.fillText((before = words(value)), Math.min(Math.max(x, area.left + 8), area.right - 8), area.bottom + 16);
    }
  }

  /** One line; where points stand closer than pixels, the highest and lowest of each pixel. */
  _line(context, xs, ys, stroke, width, opacity) {
    context.strokeStyle = stroke;
    context.globalAlpha = opacity;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.beginPath();
    let [column, low, high, isDown, count] = [null, 0, 0, false, 0];
    const flush = () => {
      if (column === null) return;
      if (isDown) context.lineTo(column, this._y(low));
      else context.moveTo(column, this._y(low));
      if (high !== low) context.lineTo(column, this._y(high));
      isDown = true;
    };
    for (let i = 0; i < xs.length; i++) {
      const value = ys[i];
      if (value === null || value === undefined || xs[i] === null || xs[i] === undefined) continue;
      const x = Math.round(this._x(xs[i]) * 2) / 2;
      if (x !== column) {
        flush();
        [column, low, high] = [x, value, value];
      } else {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
      count++;
    }
    flush();
    context.stroke();
    if (count === 1) {
      context.beginPath();
      context.arc(column, this._y(low), 2.5, 0, 7);
      context.fillStyle = stroke;
      context.fill();
    }
    context.globalAlpha = 1;
  }

  _mark(context, mark, stroke) {
    const [x, y] = [this._x(mark.x), this._y(mark.y)];
    context.strokeStyle = stroke;
    context.fillStyle = css("--card");
    if (mark.spread) {
      context.globalAlpha = 0.5;
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x, this._y(mark.y - mark.spread));
      context.lineTo(x, this._y(mark.y + mark.spread));
      context.stroke();
      context.globalAlpha = 1;
    }
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 4, 0, 7);
    context.fill();
    context.stroke();
  }

  _point(event) {
    if (!this._limits) return;
    const box = this._canvas.getBoundingClientRect();
    const part = (event.clientX - box.left - this._area.left) / (this._area.right - this._area.left);
    if (part < -0.02 || part > 1.02) return this._hover.dispatchEvent(new CustomEvent("at", { detail: null }));
    const x = this._limits.x0 + part * (this._limits.x1 - this._limits.x0);
    this._hover.dispatchEvent(new CustomEvent("at", { detail: { x, from: this } }));
  }

  _showAt(at) {
    if (!at || !this._limits || !this._box.isConnected) {
      if (!this._tip.hidden) {
        this._tip.hidden = true;
        this.draw();
      }
      return;
    }
    const found = this.series.filter((one) => !one.isThin).map((one) => ({ one, index: nearest(one.x, one.y, at.x) })).filter(({ index }) => index >= 0);
    if (!found.length) return;
    this.draw();
    const context = this._canvas.getContext("2d");
    const x = this._x(found[0].one.x[found[0].index]);
    context.strokeStyle = css("--soft");
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, this._area.top);
    context.lineTo(Math.round(x) + 0.5, this._area.bottom);
    context.stroke();
    context.globalAlpha = 1;
    for (const { one, index } of found) {
      context.fillStyle = one.colour;
      context.beginPath();
      context.arc(this._x(one.x[index]), this._y(one.y[index]), 3.5, 0, 7);
      context.fill();
    }
    this._tip.hidden = at.from !== this;
    if (this._tip.hidden) return;
    const words = this._xName === "time" ? minutes : brief;
    set(this._tip, h("b", {}, `${{ env_steps: "step", time: "", update: "update" }[this._xName] ?? ""} ${words(found[0].one.x[found[0].index])}`), found.map(({ one, index }) => h("span", { class: "key" }, h("i", { style: { background: one.colour } }), one.name, h("b", {}, number(one.raw ? one.raw[index] : one.y[index])))));
    const side = x > (this._area.left + this._area.right) / 2;
    this._tip.style.left = side ? "" : `${x + 10}px`;
    this._tip.style.right = side ? `${this._box.clientWidth - x + 10}px` : "";
  }
}

const minutes = (seconds) => (seconds < 120 ? `${Math.round(seconds)} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);

function nearest(xs, ys, x) {
  let [low, high] = [0, xs.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && Math.abs(xs[low - 1] - x) < Math.abs(xs[low] - x)) low--;
  for (let away = 0; away < 50; away++) {
    for (const index of [low - away, low + away]) if (index >= 0 && index < xs.length && ys[index] !== null && ys[index] !== undefined) return index;
  }
  return -1;
}
