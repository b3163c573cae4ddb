#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The scripts of the page on recipes: the page shows them, and they do what it says.

CONCH_PROGRAM is the path of the built program."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / 'src' / 'doc' / 'recipes.md'
RECIPES = HERE / 'recipes'
PATIENCE = 20


class Page(unittest.TestCase):
    def test_it_shows_each_script(self):
        shown = re.findall(r'^```\w*\n(.*?)^```', PAGE.read_text(), re.S | re.M)
        for script in sorted(RECIPES.iterdir()):
            with self.subTest(script.name):
                lines = script.read_text().splitlines(keepends=True)
                text = ''.join(line for line in lines if 'SPDX' not in line)
                self.assertIn(text, shown)


@unittest.skipIf(shutil.which('redis-server') is None, 'no redis-server in PATH')
class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='conch-recipes-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / 'conch').symlink_to(os.environ['CONCH_PROGRAM'])
        self.script('nightly-report', 'echo reports')
        self.environment = {'PATH': f'{self.folder}:{os.environ["PATH"]}',
                            'CONCH_REDIS': f'unix://{self.folder}/redis.sock'}
        self.start_server()

    def start_server(self):
        server = subprocess.Popen(
            ['redis-server', '--port', '0', '--unixsocket', f'{self.folder}/redis.sock',
             '--save', '', '--dir', str(self.folder)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertTrue(any('eady to accept connections' in line for line in server.stdout))

    def script(self, name, text):
        file = self.folder / name
        file.write_text(f'#!/bin/sh\n{text}\n')
        file.chmod(0o755)

    def start(self, *words, **options):
        process = subprocess.Popen(words, env=self.environment, cwd=RECIPES, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def ran(self, *words):
        """Its exit status, and what it wrote."""
        process = self.start(*words)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output

    def hold(self, name):
        """Somebody else who has the lock, until its input ends."""
        holder = self.start('conch', 'run', name, '--', 'sh', '-c', 'echo in; exec cat')
        self.assertEqual(holder.stdout.readline(), 'in\n')
        return holder

    def wait_for_a_waiter(self, name):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            status, answer = self.ran('conch', 'status', '--json', name)
            self.assertEqual(status, 0)
            if json.loads(answer)['waiting'] == 1:
                return
        self.fail(f'nobody waits for {name}')

    def expect_to_wait(self, name, holder, process, output):
        self.wait_for_a_waiter(name)
        holder.communicate(timeout=PATIENCE)
        self.assertEqual(process.communicate(timeout=PATIENCE)[0], output)
        self.assertEqual(process.returncode, 0)

    def test_a_script_that_locks_itself_runs_however_it_is_called(self):
        shutil.copy(RECIPES / 'deploy.sh', self.folder / 'deploy')
        (self.folder / 'deploy').chmod(0o755)
        for words in (['sh', 'deploy.sh'], ['deploy'], [str(self.folder / 'deploy')]):
            with self.subTest(words):
                self.assertEqual(self.ran(*words, 'this one'), (0, 'deploys this one\n'))

    def test_a_script_that_locks_itself_waits_for_another(self):
        holder = self.hold('deploy')
        self.expect_to_wait('deploy', holder, self.start('sh', 'deploy.sh', '7'), 'deploys 7\n')

    def test_a_part_of_a_script_waits_for_another(self):
        holder = self.hold('counter')
        process = self.start('bash', 'section.sh', 'up to 7')
        self.assertEqual(process.stdout.readline(), 'not under the lock yet\n')
        self.expect_to_wait('counter', holder, process,
                            'counts up to 7\nno longer under the lock\n')

    def cron_runs(self):
        last = (RECIPES / 'nightly.cron').read_text().splitlines()[-1]
        return self.ran('sh', '-c', last.split('reporter', 1)[1])

    def test_the_job_of_cron_runs_on_the_first_host_alone(self):
        self.assertEqual(self.cron_runs(), (0, 'reports\n'))
        self.assertEqual(self.cron_runs(), (0, ''))

    def test_the_job_of_cron_does_not_overlap_with_the_last_one(self):
        self.hold('report-lock')
        status, mail = self.cron_runs()
        self.assertEqual(status, 1)
        self.assertIn('is held by someone else', mail)

    def test_the_job_of_kubernetes_is_that_of_cron(self):
        shown = re.search(r'^ +command: (\[.*?\])$', PAGE.read_text(), re.S | re.M)[1]
        words = json.loads(shown)
        self.assertEqual(self.ran(*words), (0, 'reports\n'))
        status, said = self.ran(*words)
        self.assertEqual(status, 0)
        self.assertIn('refused', said)

    def test_the_entry_point_of_docker_works(self):
        shown = re.search(r'^ENTRYPOINT (\[.*\])$', PAGE.read_text(), re.M)[1]
        self.script('backup', 'echo saves')
        self.assertEqual(self.ran(*json.loads(shown)), (0, 'saves\n'))

    def test_the_commands_of_systemd_work(self):
        self.script('backup', 'echo saves')
        self.script('scheduler', 'echo schedules')
        shown = re.findall(r'^ExecStart=(.*)$', PAGE.read_text(), re.M)
        said = [self.ran(*line.replace('/usr/local/bin/', '').split()) for line in shown]
        self.assertEqual(said, [(0, 'saves\n'), (0, 'schedules\n')])


if __name__ == '__main__':
    unittest.main()
