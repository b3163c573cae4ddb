#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Holds the rules of the house: layering, sizes, names, forbidden forms.

    tidy.py [FOLDER]    the top level of the project; default: this checkout
"""

import sys
from pathlib import Path
from typing import List

import forms
import layering
import namesakes
import sizes
from source_file import Finding, SourceFile, read_tree


def check(files: List[SourceFile]) -> List[Finding]:
    found = []
    for f in files:
        for rules in (layering, sizes, namesakes, forms):
            found += rules.check(f)
    found += sizes.check_all(files)
    return found


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    files = read_tree(root)
    if not files:
        print(f'tidy: no files in {root}', file=sys.stderr)
        return 2
    found = check(files)
    for finding in found:
        print(finding)
    print(f'tidy: {len(files)} files, {len(found)} findings')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
