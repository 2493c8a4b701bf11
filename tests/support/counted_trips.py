"""A relay before a server that counts round trips: how often somebody waits for an answer before he goes on."""

import select
import socket
import threading


class CountedTrips:
    """A relay on the loopback; it ends with the process.

    Attributes:
        port: Where it listens.
        trips: How often something was sent after something had been received.
    """

    def __init__(self, port: int) -> None:
        """Relay to a port."""
        self._to, self.trips = port, 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listening.accept()
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        last = None
        with client, socket.create_connection(("127.0.0.1", self._to)) as server:
            while True:
                for side in select.select([client, server], [], [])[0]:
                    if not (sent := side.recv(1 << 16)):
                        return
                    self.trips += side is client and last is not client
                    (server if side is client else client).sendall(sent)
                    last = side
