# SPDX-License-Identifier: BSL-1.0
"""Reads what bench/run.sh has left."""

import json
from pathlib import Path
from typing import Dict


class Missing(Exception):
    """A figure, or the file that should have it, isn't there."""


def read(path: Path) -> Dict:
    try:
        return json.loads(path.read_text())
    except OSError:
        raise Missing(f'no {path}') from None
    except ValueError:
        raise Missing(f'{path} is not JSON') from None
