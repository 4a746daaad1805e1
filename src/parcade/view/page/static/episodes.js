// Episodes that were kept: the newest, best, worst, and the first to reach a milestone; each can be played again exactly.

import { address, ask, isAway } from "./api.js";
import { Channel } from "./channel.js";
import { h, icon, say, set } from "./dom.js";
import { episodeField } from "./episode_field.js";
import { fixed, sentence, spoken, whole } from "./format.js";
import { Panels, card, pairs } from "./panels.js";

const KINDS = [["newest", "Newest"], ["best", "Best"], ["worst", "Worst"], ["first", "Milestones"]];
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 64];
const EVERY_MS = 3000;

export class Episodes {
  constructor(app) {
    this.app = app;
    this._kind = "newest";
    this._index = null;
    this._player = null;
    this._build();
    this._timer = setInterval(() => this._load(), EVERY_MS);
    this._load();
  }

  close() {
    clearInterval(this._timer);
    this._player?.close();
  }

  /** Play the episode that the address names. */
  follow(place) {
    const wanted = place.get("episode") === null ? null : Number(place.get("episode"));
    if (wanted === (this._player?.number ?? null)) return;
    this._player?.close();
    this._player = wanted === null ? null : new Player(this.app, wanted);
    this._columns.classList.toggle("has-player", Boolean(this._player));
    set(this._stage, this._player ? this._player.element : []);
    this._player?.layOut();
    this._list();
  }

  _build() {
    this._note = h("p", { class: "note" });
    this._kinds = h("div", { class: "segments", role: "group", "aria-label": "which episodes" }, KINDS.map(([value, title]) => h("button", { data: { value }, onclick: () => this._choose(value) }, title)));
    this._rows = h("div", { class: "episode-list" });
    this._stage = h("div", { class: "episode-stage" });
    this._columns = h("div", { class: "episode-columns" }, h("div", { class: "card episode-card" }, this._kinds, this._rows), this._stage);
    this._body = h("div", {}, this._columns);
    this.element = h("section", {}, h("div", { class: "toolbar" }, h("h1", { class: "view-title" }, "Episodes"), this._note), this._body);
  }

  _choose(kind) {
    this._kind = kind;
    this._list();
  }

  async _load() {
    const { run } = this.app;
    try {
      const index = await ask("episodes", { run });
      if (JSON.stringify(index) === JSON.stringify(this._index)) return;
      this._index = index;
    } catch (error) {
      if (isAway(error)) return;
      this._index = { words: error.message, episodes: [], kinds: {} };
    }
    this._list();
  }

  /** Say in the middle of the page why there is nothing to choose. */
  _showNothing(index) {
    const { card, facts } = this.app;
    const isOn = card?.is_live || card?.is_opening;
    const why = index.words ? sentence(index.words)
      : facts?.config?.episodes_mb === 0 ? "This run keeps none: its setting episodes_mb is 0."
      : isOn ? "None has ended yet. The newest, best and worst are kept, and the first to reach each milestone; they appear here."
      : "No episode ended while it trained.";
    set(this._body, h("div", { class: "empty" }, h("h1", {}, index.words ? "The episodes cannot be read" : isOn ? "No episode yet" : "This run has no episodes"), h("p", {}, why)));
    say(this._note, "");
  }

  tick() {
    if (this._index && !this._index.episodes.length) this._list();
  }

  _list() {
    const index = this._index;
    if (index && !index.episodes.length && !this._player) return this._showNothing(index);
    if (!this._columns.isConnected) set(this._body, this._columns);
    for (const button of this._kinds.children) button.classList.toggle("is-chosen", button.dataset.value === this._kind);
    if (!index) return;
    this._followKind(index);
    const known = new Map(index.episodes.map((episode) => [episode.number, episode]));
    const shown = (index.kinds[this._kind] ?? []).map((number) => known.get(number)).filter(Boolean);
    say(this._note, `${whole(known.size)} kept; each is its seed and its actions, and plays again to the last bit`);
    const empty = this._kind === "first" ? "No milestone was reached yet, or this env has none." : "No episode has ended yet.";
    set(this._rows, shown.length ? shown.map((episode) => this._row(episode)) : h("p", { class: "note" }, empty));
    if (!this._player) this._showField(index);
  }

  /** Until one is chosen, all of them stand in one picture. */
  _showField(index) {
    if (this._stage.firstChild && this._fieldOf === index) return;
    this._fieldOf = index;
    set(this._stage, episodeField(index, (number) => this.app.go({ episode: number })));
  }

  /** An episode that the address names is looked for in all lists, once. */
  _followKind(index) {
    const number = this._player?.number ?? null;
    if (number === null || number === this._found) return;
    this._found = number;
    if (!index.kinds[this._kind]?.includes(number)) this._kind = KINDS.map(([kind]) => kind).find((kind) => index.kinds[kind]?.includes(number)) ?? this._kind;
    for (const button of this._kinds.children) button.classList.toggle("is-chosen", button.dataset.value === this._kind);
  }

  _row(episode) {
    const { success } = episode.metrics;
    const isChosen = this._player?.number === episode.number;
    return h("button", { class: `episode-row${isChosen ? " is-chosen" : ""}`, data: { episode: episode.number }, onclick: () => this.app.go({ episode: episode.number }) },
      h("span", { class: `mark ${success === undefined ? "" : success >= 0.5 ? "is-good" : "is-bad"}` }, success === undefined ? null : icon(success >= 0.5 ? "check" : "cross")),
      h("span", { class: "episode-text" }, h("b", {}, `Episode ${whole(episode.number)}`), h("small", { title: `seed ${episode.seed}, after ${whole(episode.env_steps)} steps of training` }, `${whole(episode.length)} steps · game ${episode.slot ?? "–"} · seed ${episode.seed}`), episode.first?.length ? h("span", { class: "firsts" }, episode.first.map((name) => h("i", {}, spoken(name)))) : null),
      h("b", { class: "episode-return" }, fixed(episode.total_reward)));
  }
}

/** One episode that is played again. */
class Player {
  constructor(app, number) {
    this.app = app;
    this.number = number;
    this._panels = new Panels();
    this._panels.valuesOf = "each of the last steps";
    this._build();
    this._channel = new Replay(app.run, number);
    this._abort = new AbortController();
    const { signal } = this._abort;
    const on = (kind, hear) => this._channel.addEventListener(kind, (event) => hear(event.detail), { signal });
    on("about", (about) => this._open(about));
    on("picture", () => this._panels.paint(this._channel.tiles.get(0)));
    on("detail", (told) => this._show(told));
    on("policy", (told) => this._showPolicy(told));
    on("seen", (leaves) => this._panels.showSeen(leaves));
    on("saved", (told) => this._tell(["saved: ", h("code", {}, told.path), " (start from it with --state)"]));
    on("problem", (told) => this._fail(told.words));
    on("connection", () => !this._channel.isOpen && this._fail(this._channel.problem || "the replay has ended; choose the episode again"));
    window.addEventListener("resize", () => this.layOut(), { signal });
    document.addEventListener("keydown", (event) => this._key(event), { signal });
  }

  close() {
    this._abort.abort();
    this._channel.close();
  }

  layOut() {
    this._panels.layOut();
  }

  _build() {
    const button = (name, title, act) => h("button", { class: "icon-button", title, "aria-label": title, onclick: act }, icon(name));
    this._play = button("play", "play or pause (space)", () => this._toggle());
    this._bar = h("input", { type: "range", class: "scrub", min: 0, max: 1, value: 0, step: 1, "aria-label": "step", oninput: () => this._seek(Number(this._bar.value)) });
    this._speed = h("select", { class: "select", "aria-label": "speed", onchange: () => this._channel.say({ speed: Number(this._speed.value) }) }, SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed}×`)));
    this._place = h("span", { class: "place" });
    this._note = h("p", { class: "note player-note" });
    const film = h("a", { class: "button", href: address("episode.mp4", { run: this.app.run, episode: this.number }), download: `episode_${this.number}.mp4` }, icon("save"), "mp4");
    const save = h("button", { class: "button", title: "write this moment as a start state for --state", onclick: () => this._channel.say({ save: true }) }, "save this moment");
    const controls = h("div", { class: "controls" }, button("back", "one step back (←)", () => this._channel.say({ step: -1 })), this._play, button("step", "one step (→)", () => this._channel.say({ step: 1 })), this._bar, this._place, this._speed);
    const { stage, facts, main, side } = this._panels;
    this.element = h("div", { class: "player" }, h("div", { class: "toolbar is-tight" }, h("h2", { class: "view-title" }, `Episode ${whole(this.number)}`), h("div", { class: "tools" }, save, film)), h("div", { class: "detail-columns" }, h("div", { class: "detail-main" }, stage, controls, this._note, facts, main), h("div", { class: "detail-side" }, side)));
  }

  _open(about) {
    this._about = this._panels.about = about;
    this._bar.max = about.length;
    this._toggle(true);
  }

  /** Say whose chances and values are shown: of the weights that played this episode nothing is left. */
  _showPolicy(told) {
    const { chosenBy } = this._panels;
    const played = this._about.recorded.env_steps;
    if (told.state === "opening") return set(chosenBy, h("p", { class: "note" }, "Loading a saved policy …"));
    if (told.state === "failed") return set(chosenBy, h("p", { class: "note" }, `Without chances and values: ${told.words}.`));
    const choice = h("select", { class: "select", "aria-label": "saved policy", onchange: () => this._channel.say({ policy: choice.value }) }, told.policies.map(({ name, env_steps }) => h("option", { value: name, selected: name === told.name }, savedAs(name, env_steps))));
    const words = `Chances and value of a saved policy. The weights that played this episode${played === null || played === undefined ? "" : `, at ${whole(played)} steps,`} were not kept.`;
    set(chosenBy, choice, h("p", { class: "note" }, words));
  }

  _show(told) {
    this._told = told;
    if (document.activeElement !== this._bar || told.is_playing) this._bar.value = told.position;
    say(this._place, `${whole(told.position)} / ${whole(this._about.length)}`);
    set(this._play, icon(told.is_playing && !told.is_over ? "pause" : "play"));
    pairs(this._panels.facts, { step: whole(told.position), return: fixed(told.return), action: told.action || "–", seed: this._about.recorded.seed });
    this._panels.show(told);
    if (told.position === this._about.length) {
      const recorded = this._about.recorded.total_reward;
      this._tell([told.is_exact ? `played to its end: return ${fixed(recorded)}, exactly as recorded` : `return ${fixed(told.return)}, but ${fixed(recorded)} was recorded: the env is not the same any more`]);
      this._note.classList.toggle("is-good", told.is_exact);
    }
  }

  /** Say what went wrong: below the pictures, or in their place if there are none. */
  _fail(words) {
    if (this._about) return this._tell([words]);
    set(this.element, h("div", { class: "empty" }, h("h1", {}, `Episode ${whole(this.number)} cannot be played`), h("p", {}, sentence(words)), h("button", { class: "button", onclick: () => this.app.go({ episode: null }) }, "All kept episodes")));
  }

  _tell(parts) {
    this._note.classList.remove("is-good");
    set(this._note, parts);
  }

  _toggle(play = !(this._told?.is_playing && !this._told.is_over)) {
    this._channel.say({ play });
    if (this._told) this._told.is_playing = play;
    set(this._play, icon(play ? "pause" : "play"));
  }

  _seek(position) {
    clearTimeout(this._seeking);
    this._seeking = setTimeout(() => this._channel.say({ seek: position }), 30);
  }

  _key(event) {
    if (event.target.closest("input[type=search], select, textarea")) return;
    const act = { " ": () => this._toggle(), ArrowRight: () => this._channel.say({ step: 1 }), ArrowLeft: () => this._channel.say({ step: -1 }), Escape: () => this.app.go({ episode: null }) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

/** "models/best_model.zip" for people. */
function savedAs(name, steps) {
  const [folder, file] = name.split("/");
  const kind = folder === "checkpoints" ? "checkpoint" : /^model_\d+\.zip$/.test(file) ? "model" : spoken(file.replace(/\.zip$/, ""));
  return `${kind}, ${whole(steps)} steps`;
}

/** The websocket of one replay; one that ends is not begun again unasked. */
class Replay extends Channel {
  constructor(run, episode) {
    super("replay", { run, episode });
  }

  lost() {}
}
