#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The scripts of the pages on recipes and on the command: these show them, and they do what it says
there.

CONCH_PROGRAM is the path of the built program."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / 'src' / 'doc' / 'recipes.md'
COMMAND = PAGE.with_name('command.md')
RECIPES = HERE / 'recipes'
# A file of /etc/cron.d: five words of time, and a user.
NIGHTLY = (RECIPES / 'nightly.cron').read_text(), 6
PATIENCE = 20
SHELLS = [shell for shell in ('dash', 'bash') if shutil.which(shell)]
TELLS_OF_TERM = "trap 'echo term; exit 5' TERM\n"


class Page(unittest.TestCase):
    def test_it_shows_each_script(self):
        text = PAGE.read_text() + COMMAND.read_text()
        shown = re.findall(r'^```\w*\n(.*?)^```', text, re.S | re.M)
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
        # Once for a test: else its second run could be that of a day that begins a second later.
        self.half_a_day_from_now = time.strftime('%H:%M:%S', time.gmtime(time.time() + 12 * 3600))
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
        self.server = server
        self.assertTrue(any('eady to accept connections' in line for line in server.stdout))

    def script(self, name, text):
        file = self.folder / name
        file.write_text(f'#!/bin/sh\n{text}\n')
        file.chmod(0o755)

    def start(self, *words, **options):
        process = subprocess.Popen(words, cwd=RECIPES, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   **{'env': self.environment, **options})
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

    def holding(self, shell, options='', trap='', **how):
        """A script that holds the lock, and works until its input ends."""
        script = self.start(shell, '-c', f'conch hold -b {options} deploy || exit\n{trap}'
                                         'echo in\nread x\n', **how)
        self.assertEqual(script.stdout.readline(), 'in\n')
        return script

    def expect_term(self, script):
        said = script.stdout.read()
        self.assertIn('term\n', said)
        self.assertEqual(script.wait(PATIENCE), 5)
        return said

    def end_of_lease(self, lease):
        """At the earliest, by time.time(): the server tells what is left after it was asked. The
        lease has just begun, so that it is not renewed, each third of it, before the server is
        frozen."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            asked = time.time()
            _, answer = self.ran('conch', 'status', '--json', 'deploy')
            left = json.loads(answer)['ttl_ms'] / 1000
            if left > lease * 8 / 9:
                return asked + left
        self.fail('the lease is not renewed')

    def test_a_script_that_holds_a_lock_waits_for_another(self):
        for shell in SHELLS:
            with self.subTest(shell):
                holder = self.hold('deploy')
                self.expect_to_wait('deploy', holder, self.start(shell, 'hold.sh', '7'),
                                    'deploys 7\n')

    def test_a_killed_script_frees_its_lock_for_the_next(self):
        for shell in SHELLS:
            with self.subTest(shell):
                script = self.holding(shell)
                second = self.start(shell, 'hold.sh', '8')
                self.wait_for_a_waiter('deploy')
                script.kill()
                self.assertEqual(second.communicate(timeout=PATIENCE)[0], 'deploys 8\n')

    def test_a_script_whose_lock_is_taken_away_gets_sigterm(self):
        for shell in SHELLS:
            with self.subTest(shell):
                script = self.holding(shell, '--lease 10', TELLS_OF_TERM)
                self.assertEqual(self.ran('conch', 'release', '--force', 'deploy')[0], 0)
                self.assertIn('taken away', self.expect_term(script))

    def test_a_script_gets_sigterm_before_its_lease_ends_at_a_frozen_server(self):
        script = self.holding('sh', '--lease 9', TELLS_OF_TERM)
        end = self.end_of_lease(9)
        self.server.send_signal(signal.SIGSTOP)
        said = ''.join(iter(script.stdout.readline, 'term\n'))
        self.assertLess(time.time(), end)
        self.assertIn('is about to be lost', said + script.stdout.read())  # in any order
        self.assertEqual(script.wait(PATIENCE), 5)

    def test_a_script_whose_holder_is_killed_gets_sigterm(self):
        script = self.holding('sh', '', TELLS_OF_TERM)
        _, answer = self.ran('conch', 'status', '--json', 'deploy')
        os.kill(json.loads(answer)['pid'], signal.SIGKILL)
        self.expect_term(script)

    def test_kill_ends_the_group_of_a_stubborn_script(self):
        script = self.holding('sh', '--kill --lease 10', "trap '' TERM\n", start_new_session=True)
        self.assertEqual(self.ran('conch', 'release', '--force', 'deploy')[0], 0)
        self.assertIn('killing process group', script.stdout.read())
        self.assertEqual(script.wait(PATIENCE), -signal.SIGKILL)

    def test_kill_ends_what_a_script_leaves_behind(self):
        stubborn = """sh -c 'trap "" TERM; echo in; tail -f /dev/null' & wait"""
        script = self.start('sh', '-c',
                            f'conch hold -b --kill --lease 10 deploy || exit\n{stubborn}',
                            start_new_session=True)
        self.assertEqual(script.stdout.readline(), 'in\n')
        self.assertEqual(self.ran('conch', 'release', '--force', 'deploy')[0], 0)
        script.stdout.read()  # until nobody has it any more
        self.assertEqual(script.wait(PATIENCE), -signal.SIGTERM)

    def test_kill_ends_the_group_before_the_lease_ends_at_a_frozen_server(self):
        stubborn = """trap '' TERM; echo in; while :; do date +%s.%N; done"""
        script = self.start('sh', '-c', f'conch hold -b --kill --lease 9 deploy || exit\n'
                                        f'sh -c "{stubborn}" & wait', start_new_session=True)
        self.assertEqual(script.stdout.readline(), 'in\n')
        end = self.end_of_lease(9)
        self.server.send_signal(signal.SIGSTOP)
        beats = []
        for line in script.stdout:  # until nobody has it any more
            beats += [float(line)] if re.fullmatch(r'\d+\.\d+\n', line) else []
        self.assertLess(beats[-1], end)
        self.assertEqual(script.wait(PATIENCE), -signal.SIGTERM)

    def test_a_script_without_input_and_output_may_hold_a_lock(self):
        script = self.start('sh', '-c', 'conch hold -b deploy <&- >&- || exit\n'
                                        'conch status --json deploy; read x')
        self.assertIn('"locked":true', script.stdout.readline())
        script.kill()
        self.assertEqual(self.ran('conch', 'run', '-w', '20', 'deploy', '--', 'true')[0], 0)

    def test_a_part_of_a_script_may_hold_a_lock(self):
        for shell in SHELLS:
            with self.subTest(shell):
                status, said = self.ran(shell, '-c', (
                    '(fence=$(conch hold -b --fenced part) || exit\n'
                    '[ "$fence" -gt 0 ] && conch hold -bqn part\n'
                    'echo $?)\n'
                    'conch hold -b -w 20 part && echo free\n'))
                self.assertEqual((status, said), (0, '1\nfree\n'))

    def test_without_b_a_lock_is_held_until_the_input_ends(self):
        holder = self.start('conch', 'hold', '--fenced', 'deploy')
        self.assertRegex(holder.stdout.readline(), '^held deploy [1-9][0-9]*\n$')
        second = self.start('sh', 'hold.sh', '9')
        self.expect_to_wait('deploy', holder, second, 'deploys 9\n')
        self.assertEqual(holder.returncode, 0)

    def test_a_script_that_reports_its_progress_keeps_its_lock(self):
        for shell in SHELLS:
            with self.subTest(shell):
                self.assertEqual(self.ran('conch', 'run', '--progress-within', '60', 'import', '--',
                                          shell, 'import.sh', 'a', 'b'),
                                 (0, 'imports a\nimports b\n'))

    def far_from_midnight(self, words):
        """The same words of a command, where a new day of --once-per 1d begins as far from this
        test as it can: else two runs of the test could be of two days."""
        at = words.index('--at') + 1
        if words[at] != '12:00' or words[words.index('--once-per') + 1] != '1d':
            raise ValueError(f'not once a day, from noon to noon: {words}')
        return words[:at] + [self.half_a_day_from_now] + words[at + 1:]

    def start_by_cron(self, table, words_before):
        """The job of a crontab, as cron starts it: with the table's own settings, and no other.
        The test's folder stands in for /usr/local/bin, its server for that of the table."""
        lines = table.replace('/usr/local/bin', str(self.folder)).splitlines()
        settings = dict(line.split('=', 1) for line in lines if re.match(r'\w+=', line))
        self.assertIn('CONCH_REDIS', settings)
        settings['CONCH_REDIS'] = self.environment['CONCH_REDIS']
        job = ' '.join(self.far_from_midnight(lines[-1].split()[words_before:]))
        return self.start('sh', '-c', job, env={'PATH': '/usr/bin:/bin', **settings})

    def cron_runs(self, *table):
        process = self.start_by_cron(*table)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output

    def test_the_job_of_cron_runs_on_the_first_host_alone(self):
        self.assertEqual(self.cron_runs(*NIGHTLY), (0, 'reports\n'))
        self.assertEqual(self.cron_runs(*NIGHTLY), (0, ''))

    def test_the_job_of_cron_does_not_overlap_with_the_last_one(self):
        last = self.hold('report')
        self.expect_to_wait('report', last, self.start_by_cron(*NIGHTLY), 'reports\n')

    def test_the_job_of_the_page_on_the_command_runs_once(self):
        self.script('report', 'echo reports')
        table = re.search(r'^```crontab\n(.*?)```', COMMAND.read_text(), re.S | re.M)[1], 5
        self.assertEqual(self.cron_runs(*table), (0, 'reports\n'))
        status, said = self.cron_runs(*table)
        self.assertEqual(status, 0)
        self.assertIn('is done, or a later one is; nothing was run', said)

    def test_the_job_of_kubernetes_is_that_of_cron(self):
        shown = re.search(r'^ +command: (\[.*?\])$', PAGE.read_text(), re.S | re.M)[1]
        words = self.far_from_midnight(json.loads(shown))
        self.assertEqual(self.ran(*words), (0, 'reports\n'))
        status, said = self.ran(*words)
        self.assertEqual(status, 0)
        self.assertIn('is done, or a later one is; nothing was run', said)

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
