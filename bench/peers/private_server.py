# SPDX-License-Identifier: BSL-1.0
"""A redis-server of one's own, on a free port of the loopback."""

import shutil
import socket
import subprocess
import tempfile
import time

from driver import end, end_with_parent

START_LIMIT_S = 20


class NoServer(Exception):
    pass


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class PrivateServer:
    """Runs inside of `with`; nothing of it is left on any way out."""

    def __enter__(self) -> 'PrivateServer':
        program = shutil.which('redis-server')
        if program is None:
            raise NoServer('no redis-server in PATH')
        self._folder = tempfile.TemporaryDirectory(prefix='conch-peers-')
        self.port = _free_port()
        self.url = f'redis://127.0.0.1:{self.port}'
        try:
            self._process = subprocess.Popen(
                [program, '--port', str(self.port), '--bind', '127.0.0.1', '--save', '',
                 '--appendonly', 'no', '--dir', self._folder.name],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=end_with_parent)
        except BaseException:
            self._folder.cleanup()
            raise
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._process.terminate()
        end(self._process, 5)
        self._process.stdout.close()
        self._folder.cleanup()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self.call('PING')
                return
            except OSError:
                time.sleep(0.01)
        raise NoServer('redis-server does not start')

    def call(self, *words: str) -> str:
        """Asks it something, and returns the first line of the reply."""
        with socket.create_connection(('127.0.0.1', self.port), timeout=5) as s:
            s.sendall(' '.join(words).encode() + b'\r\n')
            with s.makefile('r', newline='\r\n') as replies:
                return replies.readline().strip()
