#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""ctest_again.py with tests that fail, of a machine that stands still and of one that doesn't."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import ctest_again

SCRIPT = pathlib.Path(__file__).with_name('ctest_again.py')
PATIENCE = 60  # s

# Counts how often it ran; the first time, it says so and waits to be told to go on.
BODY = '''
echo ran >>ran.txt
if [ -p go ]; then echo >running; read -r word <go; fi
'''


class Excuses(unittest.TestCase):
    def test_each_must_have_run_in_a_stall(self):
        stalls = [(10.0, 12.0)]
        self.assertTrue(ctest_again.excused({'a': (9.0, 11.0), 'b': (11.0, 30.0)}, stalls))
        self.assertFalse(ctest_again.excused({'a': (9.0, 11.0), 'b': (12.5, 30.0)}, stalls))
        self.assertFalse(ctest_again.excused({'a': (1.0, 9.0)}, stalls))
        self.assertFalse(ctest_again.excused({'a': (9.0, 11.0)}, []))

    def test_a_failure_of_no_test_is_no_excuse(self):
        self.assertFalse(ctest_again.excused({}, [(10.0, 12.0)]))


class Hears(unittest.TestCase):
    def test_which_failed_and_when_they_ran(self):
        course = ctest_again.Course()
        for now, line in enumerate([
                '        Start   7: a.good',
                '        Start  12: each/a.bad/1  # GetParam() = 4-byte object <00 00>',
                ' 1/20 Test   #7: a.good .......   Passed    0.01 sec',
                ' 2/20 Test  #12: each/a.bad/1  # GetParam() = 4-byte object <00 00> '
                '...***Failed  1 sec',
                '        Start  13: a.late',
                ' 3/20 Test  #13: a.late .......***Timeout 120.01 sec',
                ' 4/20 Test  #14: a.crash ......Subprocess aborted***Exception:   0.01 sec',
                ' 5/20 Test  #15: a.left_out ...***Skipped   0.01 sec']):
            course.hear(line, float(now))
        self.assertEqual(course.failed, {
            'each/a.bad/1  # GetParam() = 4-byte object <00 00>': (1.0, 3.0),
            'a.late': (4.0, 5.0), 'a.crash': (6.0, 6.0)})


class Runs(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.place.name)

    def tearDown(self):
        self.place.cleanup()

    def run_tests(self, body, stand_still):
        (self.folder / 'body.sh').write_text(BODY + body)
        (self.folder / 'CTestTestfile.cmake').write_text(
            f'add_test(one sh "{self.folder}/body.sh")\n'
            f'set_tests_properties(one PROPERTIES WORKING_DIRECTORY "{self.folder}")\n')
        running, go = self.folder / 'running', self.folder / 'go'
        os.mkfifo(running)
        os.mkfifo(go)
        with subprocess.Popen([sys.executable, '-B', SCRIPT, self.folder, self.folder / 'logs'],
                              stdout=subprocess.DEVNULL) as process:
            running.read_text()
            if stand_still:
                process.send_signal(signal.SIGSTOP)
                threading.Event().wait(ctest_again.STALL + 0.5)
                process.send_signal(signal.SIGCONT)
            with go.open('w'):
                go.unlink()
            status = process.wait(PATIENCE)
        return status, len((self.folder / 'ran.txt').read_text().split())

    def again(self):
        return (self.folder / 'logs' / 'again.txt').exists()

    def test_what_fails_at_any_other_time_has_failed(self):
        status, times = self.run_tests('exit 1', stand_still=False)
        self.assertNotEqual(status, 0)
        self.assertEqual((times, self.again()), (1, False))

    def test_what_fails_in_a_stall_is_run_again(self):
        status, times = self.run_tests('[ "$(wc -l <ran.txt)" = 2 ]', stand_still=True)
        self.assertEqual((status, times, self.again()), (0, 2, True))
        self.assertIn('100% tests passed', (self.folder / 'logs' / 'ctest.txt').read_text())
        self.assertIn('    one\n', (self.folder / 'logs' / 'again.txt').read_text())

    def test_and_has_failed_if_it_fails_again(self):
        status, times = self.run_tests('exit 1', stand_still=True)
        self.assertNotEqual(status, 0)
        self.assertEqual(times, 2)
        self.assertNotIn('100% tests', (self.folder / 'logs' / 'ctest.txt').read_text())

    def test_what_passes_is_run_once(self):
        self.assertEqual(self.run_tests('exit 0', stand_still=True), (0, 1))
        self.assertFalse(self.again())


if __name__ == '__main__':
    unittest.main()
