// Elements without markup: texts are always texts, so a name from a run can be anything.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, part] of Object.entries(value)) element.style.setProperty(key, part);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Make an element: h("p", {class: "note", onclick: f}, "text", child, …). */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** Make an SVG element. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Put other children into an element. */
export function set(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Change a text only where it differs: a node that stays causes no layout. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const PATHS = {
  games: "M3 3h8v8H3zM13 3h8v8h-8zM3 13h8v8H3zM13 13h8v8h-8z",
  curves: "M3 3v18h18M6 16l4-5 4 3 6-8",
  map: "M9 4 3 6.5v13L9 17l6 3 6-2.5v-13L15 7 9 4zM9 4v13M15 7v13",
  episodes: "M4 4h16v16H4zM10 8.5v7l6-3.5z",
  run: "M4 6h10M18 6h2M4 12h3M11 12h9M4 18h10M18 18h2M14 4v4M7 10v4M14 16v4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  close: "M6 6l12 12M18 6 6 18",
  down: "M6 9l6 6 6-6",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  play: "M7 4v16l13-8z",
  pause: "M8 5v14M16 5v14",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M7 7l10 10M17 7 7 17",
  expand: "M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5",
  step: "M6 5v14l9-7zM18 5v14",
  back: "M18 5v14l-9-7zM6 5v14",
};

/** Make an icon. */
export function icon(name) {
  return s("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
}
