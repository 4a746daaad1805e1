// Draws one map: its picture, the heat of all visits, and a dot with its way for every game.

import { colour, css } from "./colours.js";
import { h } from "./dom.js";

const CELL = 16; // pixels of a map's picture for one column and row
const LAYERS = [["color", 1], ["source-over", 0.2]]; // how the heat is laid on a picture, and how strongly
const CROWD = 100; // games on one map
const NEAR = 14; // pixels from a dot that still mean it

export class MapCanvas {
  constructor() {
    this.element = h("canvas", { class: "map" });
    this.picture = null; // {image, left, top, isWhole}
    this.visits = null; // {left, top, columns, rows, counts}
    this.heat = 0.8;
    this._dots = [];
  }

  /** Draw into a box; `games`: [{slot, place: [x, y], path, isChosen, isDim}]. */
  draw(room, tall, games) {
    const extent = this._extent();
    if (!extent || room <= 0) return;
    const ratio = window.devicePixelRatio || 1;
    const most = Math.min((room * ratio) / extent.width, (tall * ratio) / extent.height);
    const scale = most >= 1 ? Math.min(4 * ratio, Math.floor(most * 4) / 4) : most;
    this._view = { ...extent, scale, ratio };
    const [width, height] = [Math.round(extent.width * scale), Math.round(extent.height * scale)];
    if (this.element.width !== width || this.element.height !== height) {
      this.element.width = width;
      this.element.height = height;
      this.element.style.width = `${width / ratio}px`;
      this.element.style.height = `${height / ratio}px`;
    }
    const context = this.element.getContext("2d");
    context.imageSmoothingEnabled = !Number.isInteger(scale);
    context.imageSmoothingQuality = "high";
    context.fillStyle = css("--well");
    context.fillRect(0, 0, width, height);
    this._drawPicture(context);
    this._drawHeat(context);
    this._drawGames(context, games);
  }

  /** The part of the map that is shown, in its own pixels. */
  _extent() {
    const boxes = [];
    const { picture, visits } = this;
    if (picture) boxes.push([picture.left, picture.top, picture.image.width, picture.image.height]);
    if (visits && !picture?.isWhole) boxes.push([visits.left * CELL - CELL, visits.top * CELL - CELL, (visits.columns + 2) * CELL, (visits.rows + 2) * CELL]);
    if (!boxes.length) return null;
    const left = Math.min(...boxes.map((box) => box[0]));
    const top = Math.min(...boxes.map((box) => box[1]));
    return { left, top, width: Math.max(...boxes.map((box) => box[0] + box[2])) - left, height: Math.max(...boxes.map((box) => box[1] + box[3])) - top };
  }

  _drawPicture(context) {
    if (!this.picture) return;
    const { image, left, top } = this.picture;
    const { scale } = this._view;
    // The more heat, the less of the map's own colours: on a red roof and on a green meadow one heat would be two colours.
    context.filter = this.visits && this.heat ? `grayscale(${this.heat})` : "none";
    context.drawImage(image, (left - this._view.left) * scale, (top - this._view.top) * scale, image.width * scale, image.height * scale);
    context.filter = "none";
  }

  /** The heat gives the map its colours and leaves its drawing as it is; a thin veil shows it where the map is black. */
  _drawHeat(context) {
    if (!this.visits || !this.heat) return;
    const { left, top, columns, rows } = this.visits;
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d").putImageData(heatOf(this.visits), 0, 0);
    const { scale } = this._view;
    const box = [(left * CELL - this._view.left) * scale, (top * CELL - this._view.top) * scale, columns * CELL * scale, rows * CELL * scale];
    context.imageSmoothingEnabled = false;
    for (const [blending, strength] of this.picture ? LAYERS : [["source-over", 1]]) {
      context.globalCompositeOperation = blending;
      context.globalAlpha = strength * this.heat;
      context.drawImage(small, ...box);
    }
    context.globalCompositeOperation = "source-over";
    context.globalAlpha = 1;
  }

  _at([x, y]) {
    const { left, top, scale } = this._view;
    return [((x + 0.5) * CELL - left) * scale, ((y + 0.5) * CELL - top) * scale];
  }

  _drawGames(context, games) {
    const { ratio, scale } = this._view;
    const largest = games.length > CROWD ? 5 : 9; // a crowd's dots have no room for numbers, and would hide the map
    const size = Math.max(4 * ratio, Math.min(largest * ratio, CELL * scale * 0.42));
    const stacked = new Map();
    this._dots = games.map(({ slot, place, path, isChosen, isDim }) => {
      if (path?.length > 1 && !isDim) this._drawPath(context, unbroken(isChosen ? path : path.slice(-6)).map((point) => this._at(point)), slot, isChosen);
      const key = place.join();
      const nth = stacked.get(key) ?? 0;
      stacked.set(key, nth + 1);
      const [x, y] = this._at(place);
      const away = nth ? size * 0.55 * Math.sqrt(nth) : 0; // games at one place fan out
      return { slot, x: x + away * Math.cos(nth * 2.4), y: y + away * Math.sin(nth * 2.4), isChosen, isDim };
    });
    for (const dot of this._dots.toSorted((a, b) => a.isChosen - b.isChosen)) this._drawDot(context, dot, size);
  }

  _drawPath(context, points, slot, isChosen) {
    context.strokeStyle = colour(slot);
    context.globalAlpha = isChosen ? 0.95 : 0.45;
    context.lineWidth = (isChosen ? 3 : 1.5) * this._view.ratio;
    context.lineJoin = context.lineCap = "round";
    context.beginPath();
    points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    context.globalAlpha = 1;
  }

  _drawDot(context, { slot, x, y, isChosen, isDim }, size) {
    const { ratio } = this._view;
    const radius = isChosen ? size * 1.35 : size;
    context.globalAlpha = isDim ? 0.35 : 1;
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fillStyle = colour(slot);
    context.fill();
    context.lineWidth = 1.5 * ratio;
    context.strokeStyle = "#fff";
    context.stroke();
    if (radius >= 7 * ratio) {
      context.fillStyle = "#fff";
      context.font = `600 ${Math.round(radius * (slot > 99 ? 0.85 : 1.05))}px ${css("--sans")}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(String(slot), x, y + 0.5);
    }
    context.globalAlpha = 1;
  }

  /** The dot that a pointer means. */
  dotAt(event) {
    if (!this._view) return undefined;
    const box = this.element.getBoundingClientRect();
    const { ratio } = this._view;
    const [x, y] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    const near = this._dots.map((dot) => ({ ...dot, away: Math.hypot(dot.x - x, dot.y - y) })).filter((dot) => dot.away < NEAR * ratio);
    return near.toSorted((a, b) => a.away - b.away)[0];
  }
}

/** The end of a way behind its last jump: a new episode began there, or a warp was taken. */
function unbroken(path) {
  let first = 0;
  for (let i = 1; i < path.length; i++) if (Math.hypot(path[i][0] - path[i - 1][0], path[i][1] - path[i - 1][1]) > 6) first = i;
  return path.slice(first);
}

/** A pixel for each place; the seldom ones stand at the cold end however long the training lasts. */
function heatOf({ columns, rows, counts }) {
  const known = [...counts].filter(Boolean).sort((a, b) => a - b);
  const [low, high] = [Math.log(known[Math.floor(known.length / 20)] ?? 1), Math.log(known.at(-1) ?? 1)];
  const image = new ImageData(columns, rows);
  for (let i = 0; i < counts.length; i++) {
    if (counts[i]) image.data.set(heat((Math.log(counts[i]) - low) / (high - low || 1)), i * 4);
  }
  return image;
}

/** From seldom to often: blue, violet, red, amber (no yellow: on a map's darker places it is olive); the last number says how much it covers. */
export function heat(part) {
  const stops = [[40, 80, 220], [140, 60, 200], [225, 50, 120], [245, 95, 50], [255, 180, 40]];
  const place = Math.min(0.9999, Math.max(0, part)) * (stops.length - 1);
  const [from, to] = [stops[Math.floor(place)], stops[Math.floor(place) + 1]];
  const mix = place % 1;
  return [...from.map((value, i) => value + (to[i] - value) * mix), 255 * (0.8 + 0.2 * Math.min(1, Math.max(0, part)))];
}
