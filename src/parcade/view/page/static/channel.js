// A websocket with pictures: takes them apart, keeps the newest of each game, and says that they came.

const SIDE = 8;

/** Tells its listeners what comes: pictures by slot, and whatever is told in words. */
export class Channel extends EventTarget {
  constructor(path, parameters) {
    super();
    this._path = `${path}?${new URLSearchParams(parameters)}`;
    this.tiles = new Map(); // slot -> {width, height, image, words}
    this.isOpen = false;
    this.problem = "";
    this._wait = 250;
    this._work = Promise.resolve();
    this._palette = new Uint32Array(65536);
    this._connect();
  }

  close() {
    this._isClosed = true;
    clearTimeout(this._timer);
    this._socket?.close();
  }

  say(message) {
    if (this._socket?.readyState === WebSocket.OPEN) this._socket.send(JSON.stringify(message));
  }

  tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  /** What is told in words; whoever extends this hears it first. */
  hear(told) {
    this.problem = told.kind === "problem" ? told.words : ""; // whatever else is told, the problem is over
    this.tell(told.kind, told);
  }

  _connect() {
    const address = new URL(this._path, document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = (this._socket = new WebSocket(address));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this._wait = 250;
      this.isOpen = true;
      this.tell("connection");
    };
    socket.onmessage = (event) => {
      this._work = this._work.then(() => this._take(event.data, socket)).catch((error) => console.warn("a message was lost:", error));
    };
    socket.onclose = () => {
      if (this._isClosed) return;
      this.isOpen = false;
      this.tell("connection");
      this.lost();
    };
  }

  /** Connect again, after ever longer pauses. */
  lost() {
    this._timer = setTimeout(() => this._connect(), this._wait);
    this._wait = Math.min(4000, this._wait * 1.7);
  }

  async _take(data, socket) {
    if (typeof data === "string") return this.hear(JSON.parse(data));
    const head = new DataView(data);
    const body = await inflated(data, 8);
    if (socket !== this._socket) return;
    const kind = head.getUint8(0);
    if (kind === 1) {
      this._paint(body, head.getUint8(1));
      this.say({ ack: head.getUint32(4, true) });
    } else if (kind === 2) {
      this.tell("seen", seen(body, head.getUint8(1)));
    } else {
      this.tell("visits", visits(body));
    }
  }

  _paint(body, size) {
    const view = new DataView(body);
    const first = view.getUint32(0, true);
    const nColours = view.getUint32(4, true);
    const nTiles = view.getUint32(8, true);
    const heads = 12;
    let at = heads + nTiles * 8;
    for (let i = 0; i < nColours; i++, at += 4) this._palette[first + i] = (view.getUint32(at, true) | 0xff000000) >>> 0;
    const tiles = [];
    let nBlocks = 0;
    for (let i = 0; i < nTiles; i++) {
      const place = heads + i * 8;
      const [slot, height, width, count] = [0, 2, 4, 6].map((offset) => view.getUint16(place + offset, true));
      tiles.push({ slot, height, width, count });
      nBlocks += count;
    }
    const pixels = at + nBlocks * 2;
    const indices = size === 1 ? new Uint8Array(body, pixels) : new Uint16Array(body.slice(pixels));
    let block = 0;
    for (const { slot, height, width, count } of tiles) {
      const tile = this._tile(slot, width, height);
      const columns = Math.ceil(width / SIDE);
      for (let i = 0; i < count; i++, block++) {
        const number = view.getUint16(at + block * 2, true);
        this._block(tile, number % columns, Math.floor(number / columns), indices, block * SIDE * SIDE);
      }
      tile.isDirty = true;
      this.tell("picture", slot);
    }
  }

  _tile(slot, width, height) {
    let tile = this.tiles.get(slot);
    if (!tile || tile.width !== width || tile.height !== height) {
      const image = new ImageData(width, height);
      tile = { width, height, image, words: new Uint32Array(image.data.buffer) };
      this.tiles.set(slot, tile);
      this.tell("size", slot);
    }
    return tile;
  }

  _block(tile, column, row, indices, at) {
    const { words, width, height } = tile;
    const left = column * SIDE;
    const top = row * SIDE;
    const right = Math.min(SIDE, width - left);
    const bottom = Math.min(SIDE, height - top);
    for (let y = 0; y < bottom; y++) {
      const line = (top + y) * width + left;
      const source = at + y * SIDE;
      for (let x = 0; x < right; x++) words[line + x] = this._palette[indices[source + x]];
    }
  }
}

export async function inflated(data, offset) {
  const stream = new Blob([new Uint8Array(data, offset)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** How often all games have been where on a map. */
export function visits(body) {
  const view = new DataView(body);
  const [columns, rows] = [view.getUint32(8, true), view.getUint32(12, true)];
  return { left: view.getInt32(0, true), top: view.getInt32(4, true), columns, rows, counts: new Uint32Array(body, 16, columns * rows) };
}

/** What the policy sees: for each leaf its planes as bytes. */
function seen(body, nLeaves) {
  const view = new DataView(body);
  let at = nLeaves * 8;
  const leaves = [];
  for (let i = 0; i < nLeaves; i++) {
    const [slot, planes, height, width] = [0, 2, 4, 6].map((offset) => view.getUint16(i * 8 + offset, true));
    leaves.push({ slot, planes, height, width, pixels: new Uint8Array(body, at, planes * height * width) });
    at += planes * height * width;
  }
  return leaves;
}
