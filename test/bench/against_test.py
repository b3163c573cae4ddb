#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What bench/against.py makes of two programs."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / 'bench'
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))

import against  # noqa: E402


class Against(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name, figure):
        """It says that everything is `figure`, and leaves a word in the file 'turns'."""
        path = self.folder / name
        figures = {case.figure: figure for case in against.CASES}
        path.write_text(f'#!/bin/sh\necho {name} >>{self.folder}/turns\n'
                        f"echo '{json.dumps(figures)}'\n")
        path.chmod(0o755)
        return path

    def compare(self, *words):
        return subprocess.run([sys.executable, '-B', str(BENCH / 'against.py'), *map(str, words)],
                              text=True, capture_output=True, timeout=60)

    def test_the_second_is_told_as_a_share_of_the_first(self):
        told = self.compare(self.program('old', 200.0), self.program('new', 150.0), 3)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(len(told.stdout.splitlines()), len(against.CASES))
        for line in told.stdout.splitlines():
            self.assertRegex(line, r': \w+ 0\.750 \(0\.750 to 0\.750\)$')

    def test_they_take_turns_and_each_begins_every_second_round(self):
        self.compare(self.program('old', 1), self.program('new', 1), 2)
        self.assertEqual((self.folder / 'turns').read_text().split()[:4],
                         ['old', 'new', 'new', 'old'])

    def test_one_program_is_too_few_and_so_is_no_round(self):
        self.assertEqual(self.compare('old').returncode, 2)
        self.assertEqual(self.compare('old', 'new', '0').returncode, 2)


if __name__ == '__main__':
    unittest.main()
