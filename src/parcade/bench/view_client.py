"""A plain client of the live page: takes the whole mosaic and answers, as a browser would, and looks at nothing.

A process of its own, told what to do by lines on stdin: ``on`` connects, ``off`` ends and prints what came. ``on``
with a word behind it looks at a map and at one game in detail as well.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PICTURES = 1
_NUMBER = struct.Struct("<I")


class MosaicClient:
    """One connection; ``came`` counts messages, bytes and pictures."""

    def __init__(self, address: str, wishes: dict[str, Any]) -> None:
        self.came = {"messages": 0, "bytes": 0}
        self._wishes = wishes
        self._socket = connect(address, compression=None, max_size=None)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for message in self._socket:
                self._take(message)
        except ConnectionClosed:
            pass

    def _take(self, message: Any) -> None:
        if isinstance(message, bytes):
            self.came["messages"] += 1
            self.came["bytes"] += len(message)
            if message[0] == PICTURES:
                self._socket.send(json.dumps({"ack": _NUMBER.unpack_from(message, 4)[0]}))
        else:
            told = json.loads(message)
            if told["kind"] == "about":
                self._socket.send(json.dumps({"slots": list(range(told["n_envs"])), **self._wishes}))
            elif told["kind"] == "status":
                self._socket.send('{"alive": 1}')

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
        self._thread.join(5)


def main(address: str) -> None:
    """Obey stdin until it is closed."""
    client: MosaicClient | None = None
    for line in sys.stdin:
        if line.startswith("on"):
            client = MosaicClient(address, {"map": "floor 1", "detail": 0} if line.strip() != "on" else {})
            print("ready", flush=True)
        elif client is not None:
            client.close()
            print(json.dumps(client.came), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
