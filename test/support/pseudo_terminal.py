"""Runs a command on a pseudo-terminal. argv: columns, rows, command...

Reads one JSON object per line from stdin: {"keys": "..."}, {"resize": [columns, rows]}, {"signal": 15}. Writes what the
terminal gets to stdout. When the command ends, writes {"code": ...} to stderr; code is minus the signal that ended it.
When stdin ends, so does the command: by SIGHUP, and some seconds later by SIGKILL.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

SECONDS_TO_LEAVE = 5


def resize(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def obey(order, terminal, child):
    if "keys" in order:
        os.write(terminal, order["keys"].encode())
    elif "resize" in order:
        resize(terminal, *order["resize"])
    elif "signal" in order:
        os.kill(child, order["signal"])


def main():
    columns, rows = int(sys.argv[1]), int(sys.argv[2])
    child, terminal = pty.fork()
    if child == 0:
        resize(0, columns, rows)
        os.execvp(sys.argv[3], sys.argv[3:])
    sources = [terminal, 0]
    orders = b""
    kill_at = None
    while True:
        left = None if kill_at is None else max(0, kill_at - time.monotonic())
        ready, _, _ = select.select(sources, [], [], left)
        if left == 0:
            os.kill(child, signal.SIGKILL)
            break
        if terminal in ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                data = b""
            if not data:
                break
            os.write(1, data)
        if 0 in ready:
            more = os.read(0, 65536)
            if not more:
                # Whoever watches is gone, or has seen enough.
                sources.remove(0)
                kill_at = time.monotonic() + SECONDS_TO_LEAVE
                os.kill(child, signal.SIGHUP)
            orders += more
            *lines, orders = orders.split(b"\n")
            for line in lines:
                obey(json.loads(line), terminal, child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.stderr.write(json.dumps({"code": code}))


main()
