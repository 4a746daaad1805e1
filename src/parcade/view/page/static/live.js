// The websocket of one run: pictures of the games in view, and what is told of them.

import { Channel } from "./channel.js";

/** Everything this page knows of a running training. */
export class Live extends Channel {
  constructor(run) {
    super("ws", { run });
    this.run = run;
    this.about = null;
    this.status = null;
    this.isOver = false;
    this._wishes = { slots: [], detail: null, map: null };
  }

  /** Say which games are in view. */
  watch(slots) {
    this._wish({ slots });
  }

  /** Look at one game alone, or at none. */
  look(slot) {
    this._wish({ detail: slot });
  }

  /** Look at a map; an empty name: at whichever there is. */
  lookAtMap(name) {
    this._wish({ map: name });
  }

  _wish(wish) {
    Object.assign(this._wishes, wish);
    this.say(wish);
  }

  hear(told) {
    if (told.kind === "about") {
      this.about = told;
      this.isOver = false;
      this.tiles.clear();
      this.say(this._wishes);
    } else if (told.kind === "status") {
      this.status = told;
      this.say({ alive: 1 });
    } else if (told.kind === "over") {
      this.isOver = true;
    }
    super.hear(told);
  }
}
