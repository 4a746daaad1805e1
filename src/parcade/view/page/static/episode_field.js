// Every kept episode of a run in one picture: when in the training it was played, and what it brought.

import { ticks } from "./chart.js";
import { h, icon } from "./dom.js";
import { brief, fixed, spoken, whole } from "./format.js";

const DOORS = [["best", "the best"], ["worst", "the worst"], ["newest", "the newest"]];

/** What stands beside the list before an episode is chosen; `play` is told the number of the one that is. */
export function episodeField(index, play) {
  const known = new Map(index.episodes.map((episode) => [episode.number, episode]));
  const doors = DOORS.map(([kind, title]) => [title, known.get(index.kinds[kind]?.[0])]).filter(([, episode]) => episode);
  const hasGoal = index.episodes.some((episode) => episode.metrics.success !== undefined);
  return h("div", { class: "card field-card" },
    h("h2", {}, "Choose an episode"),
    h("p", { class: "note" }, "A dot for each kept episode: its return, and when in the training it was played. The server plays it again from its seed and actions, in an emulator of its own."),
    field(index.episodes, play),
    hasGoal ? h("div", { class: "legend" }, h("span", { class: "key" }, h("i", { class: "dot-key is-good" }), "success"), h("span", { class: "key" }, h("i", { class: "dot-key" }), "no success")) : null,
    h("div", { class: "doors" }, doors.map(([title, episode]) => h("button", { class: "button", data: { door: episode.number }, onclick: () => play(episode.number) }, icon("play"), `Play ${title}`, h("b", {}, fixed(episode.total_reward))))),
  );
}

function field(episodes, play) {
  const isTimed = episodes.every((episode) => Number.isFinite(episode.env_steps));
  const when = (episode) => (isTimed ? episode.env_steps : episode.number);
  const across = span(episodes.map(when));
  const up = span(episodes.map((episode) => episode.total_reward));
  const rows = ticks(up.low, up.high, 5).map((value) => [h("i", { class: "row-line", style: { "--up": up.share(value) } }), h("span", { class: "row-tick", style: { "--up": up.share(value) } }, brief(value))]);
  const columns = ticks(across.low, across.high, 4).map((value) => h("span", { class: "column-tick", style: { "--across": across.share(value) } }, brief(value)));
  const dots = episodes.map((episode) => {
    const { success } = episode.metrics;
    const label = `Episode ${whole(episode.number)}: return ${fixed(episode.total_reward)}, ${whole(episode.length)} steps${episode.first?.length ? `; first to reach ${episode.first.map(spoken).join(", ")}` : ""}`;
    return h("button", { class: `field-dot${success >= 0.5 ? " is-good" : ""}`, data: { episode: episode.number }, title: label, "aria-label": label, style: { "--across": across.share(when(episode)), "--up": up.share(episode.total_reward) }, onclick: () => play(episode.number) });
  });
  return h("div", { class: "field" }, h("div", { class: "field-area" }, rows, columns, dots), h("p", { class: "field-axis" }, isTimed ? "env steps of training" : "number of the episode"));
}

/** The span of some numbers with a little room around it; one number alone stands in its middle. */
function span(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least) * 0.05 || Math.abs(most) * 0.1 || 1;
  const low = least >= 0 && least < most / 4 ? 0 : least - room;
  const high = most + room;
  return { low, high, share: (value) => ((value - low) / (high - low)).toFixed(4) };
}
