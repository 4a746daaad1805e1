// Numbers as a reader likes them.

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 1234567 -> "1,234,567" */
export const whole = (value) => (value === null || value === undefined ? "–" : grouped.format(value));

/** 1234567 -> "1.23M" */
export function brief(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return trimmed(value / unit, size / unit >= 100 ? 0 : size / unit >= 10 ? 1 : 2) + letter;
  }
  return number(value);
}

const trimmed = (value, digits) => value.toFixed(digits).replace(/\.0+$|(\.\d*?)0+$/, "$1");

/** A measured number: about four digits that mean something. */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
  if (size >= 1000) return grouped.format(value);
  return trimmed(value, size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4).replace("-", "−");
}

/** The same width for every return, so that nothing jumps. */
export const fixed = (value, digits = 2) =>
  value === null || value === undefined ? "–" : value.toFixed(Math.abs(value) >= 1000 ? 0 : digits).replace("-", "−");

/** 3725 -> "1 h 02 min" */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const rounded = Math.max(0, Math.round(seconds));
  if (rounded < 60) return `${rounded} s`;
  const minutes = Math.floor(rounded / 60);
  if (minutes < 60) return `${minutes} min ${String(rounded % 60).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** 123456 -> "121 KiB" */
export function bytes(size) {
  if (size === null || size === undefined) return "–";
  for (const [unit, letter] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (size >= unit) return `${(size / unit).toFixed(size / unit >= 10 ? 0 : 1)} ${letter}`;
  }
  return `${size} B`;
}

/** "20261118-014007" -> "18 Nov 2026, 01:40" */
export function stamp(name) {
  const found = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})/.exec(name ?? "");
  if (!found) return name;
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][Number(found[2]) - 1];
  return `${Number(found[3])} ${month} ${found[1]}, ${found[4]}:${found[5]}`;
}

/** "there is none" -> "There is none." */
export const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "");

/** "floors_cleared" -> "floors cleared" */
export const spoken = (name) => name.replaceAll("_", " ").replaceAll("/", " · ");
