# SPDX-License-Identifier: BSL-1.0
"""Reads what bench/run.sh has left."""

import json
from pathlib import Path
from typing import Dict, Set


# What bench/run.sh --NAME measures, by how the names of its files begin: they may be of another
# commit than the others.
PARTIAL = {'peers': 'peers.', 'topologies': 'topology-', 'waiters': 'waiters-'}


class Missing(Exception):
    """A figure, or the file that should have it, isn't there."""


def read(path: Path) -> Dict:
    try:
        return json.loads(path.read_text())
    except OSError:
        raise Missing(f'no {path}') from None
    except ValueError:
        raise Missing(f'{path} is not JSON') from None


def commits(folder: Path) -> Dict[str, Set[str]]:
    """At which each run of bench/run.sh was measured: more than one, if files are of several runs.
    Files that do not say so do not count."""
    out: Dict[str, Set[str]] = {}
    for path in folder.glob('*.json'):
        run = next((f'--{r}' for r, names in PARTIAL.items() if path.name.startswith(names)), '')
        out.setdefault(run, set()).update({read(path).get('commit')} - {None, ''})
    return out
