# SPDX-License-Identifier: BSL-1.0
"""The peers: how each is installed into a build folder, and started.

What they need comes from where pip, npm, Maven and Go are configured to look; the versions are
pinned beside the drivers, Redisson's by the interop suite.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List

HERE = Path(__file__).resolve().parent
INTEROP_POM = HERE.parents[1] / 'test' / 'interop' / 'pom.xml'
INSTALL_LIMIT_S = 900


class NotInstalled(Exception):
    """With a reason in one line."""


def _need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            raise NotInstalled(f'no {program} in PATH')


def _run(folder: Path, *words: str) -> None:
    """The last line that says anything is the reason if it fails."""
    try:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=INSTALL_LIMIT_S, errors='replace')
    except subprocess.TimeoutExpired:
        raise NotInstalled(f'{Path(words[0]).name} took too long') from None
    if done.returncode != 0:
        (folder / 'failed.txt').write_text(done.stdout)
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if 'rror' in line] or lines or ['without a word']
        raise NotInstalled(f'{Path(words[0]).name}: {errors[0][:200]}')


def _redis_py(folder: Path) -> None:
    _run(folder, sys.executable, '-m', 'venv', 'venv')
    _run(folder, 'venv/bin/python', '-m', 'pip', 'install', '--quiet', '-r', 'requirements.txt')


def _node(folder: Path) -> None:
    _need('node', 'npm')
    _run(folder, 'npm', 'install', '--omit=dev', '--no-audit', '--no-fund', '--no-package-lock')


def _redisson(folder: Path) -> None:
    _need('java', 'javac', 'mvn')
    maven = ['mvn', '-B', '-q', '-f', str(INTEROP_POM), f'-Ddriver.folder={folder}',
             f'-DoutputDirectory={folder}/lib', '-DincludeScope=runtime']
    try:
        _run(folder, *maven, '--offline', 'dependency:copy-dependencies')
    except NotInstalled:
        _run(folder, *maven, '--update-snapshots', 'dependency:copy-dependencies')
    _run(folder, 'javac', '--release', '11', '-cp', 'lib/*', '-d', 'classes', 'Driver.java')


def _rueidislock(folder: Path) -> None:
    _need('go')
    _run(folder, 'go', 'build', '-o', 'driver', '.')


class Peer:
    def __init__(self, sources: str, install: Callable[[Path], None], command: List[str]):
        self.sources = HERE / sources
        self._install = install
        self._command = command

    def prepare(self, build: Path, install: bool) -> List[str]:
        """The command that starts its driver; installs it before where that is needed."""
        folder = build / self.sources.name
        stamp = folder / 'complete'
        digest = self._digest()
        if not stamp.exists() or stamp.read_text() != digest:
            if not install:
                raise NotInstalled('not installed')
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.sources, folder)
            self._install(folder)
            stamp.write_text(digest)
        _need(self._command[0].format(folder=folder))
        return [word.format(folder=folder) for word in self._command]

    def _digest(self) -> str:
        text = hashlib.sha256()
        files = sorted(p for p in self.sources.iterdir() if p.is_file())
        for path in files + [INTEROP_POM]:
            text.update(path.read_bytes())
        return text.hexdigest()


PEERS: Dict[str, Peer] = {
    'redisson': Peer('redisson', _redisson,
                     ['java', '-cp', '{folder}/classes:{folder}/lib/*', 'Driver']),
    'rueidislock': Peer('rueidislock', _rueidislock, ['{folder}/driver']),
    'redis-semaphore': Peer('node', _node, ['node', '{folder}/driver.mjs', 'redis-semaphore']),
    'redlock': Peer('node', _node, ['node', '{folder}/driver.mjs', 'redlock']),
    'redis-py': Peer('redis-py', _redis_py,
                     ['{folder}/venv/bin/python', '{folder}/driver.py']),
}
