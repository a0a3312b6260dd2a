# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""An agent of the test's own that says what it is told, for coschedctl's tests."""

import array
import json
import os
import socket
import tempfile
import threading


class FakeAgent(threading.Thread):
    """Answers by op from `replies` and keeps what it was asked in `asked`.

    A reply is the object without v and ok, an (errnum, text) refusal, bytes to
    send as they are, or None to hang up."""

    def __init__(self):
        super().__init__(daemon=True)
        self.directory = tempfile.TemporaryDirectory(prefix="cosched-test.")
        self.path = os.path.join(self.directory.name, "sock")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen()
        self.replies = {}
        self.asked = []
        self.descriptors = []

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                try:
                    while self.serve(connection):
                        pass
                except ConnectionError:
                    pass # a client may be killed while it waits

    def serve(self, connection):
        text = connection.recv(1 << 17)
        if not text:
            return False
        request = json.loads(text)
        self.asked.append(request)
        reply = self.replies.get(request["op"], {})
        if callable(reply):
            reply = reply(request)
        if reply is None:
            return False
        if isinstance(reply, tuple):
            reply = {"v": 1, "ok": False, "errnum": reply[0],
                     "error": reply[1]}
        elif not isinstance(reply, bytes):
            reply = {"v": 1, "ok": True, **reply}
        if not isinstance(reply, bytes):
            reply = json.dumps(reply).encode()
        control = []
        if self.descriptors:
            control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                        array.array("i", self.descriptors))]
        connection.sendmsg([reply], control)
        return True

    def ops(self):
        return [request["op"] for request in self.asked]

    def __enter__(self):
        self.start()
        return self

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join()

    def __exit__(self, *exception):
        self.stop()
        self.directory.cleanup()
