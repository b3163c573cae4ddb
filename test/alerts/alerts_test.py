# SPDX-License-Identifier: BSL-1.0
"""The alert rules and the dashboard of src/doc, as Prometheus' promtool reads them: each alert
fires when it should, and only then, which ALERT.yml says; each expression of the dashboard can be
parsed. That they name only metrics that are exported is checked by test/examples/pages.py."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DOC = HERE.parents[1] / 'src' / 'doc'
ALERTS = DOC / 'alerts.yml'
PROMTOOL = shutil.which('promtool')


def promtool(*words):
    """Whether it finds nothing wrong, and what it says."""
    done = subprocess.run([PROMTOOL, *map(str, words)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode == 0, done.stdout


def alerts():
    """The text of each, by its name."""
    parts = re.split(r'(?=^ +- alert: )', ALERTS.read_text(), flags=re.M)[1:]
    return {re.search(r'alert: (\w+)', part)[1]: part for part in parts}


def broken(rule):
    """What a rule may be by mistake: each must be noticed."""
    for limit in re.finditer(r' (?:>|==) [\d.]+', rule):
        yield rule[:limit.start()] + ' > -1' + rule[limit.end():]
    for limit in re.finditer(r'> ([\d.]+)$', rule, re.M):
        yield rule[:limit.start()] + '> 1e9' + rule[limit.end():]
    for selector in re.finditer(r'(?<=[a-z]){.*?}', rule):
        yield rule[:selector.start()] + rule[selector.end():]
    for wait in re.finditer(r'^ +for: .*\n', rule, re.M):
        yield rule[:wait.start()] + rule[wait.end():]
        yield rule[:wait.start()] + '        for: 1h\n' + rule[wait.end():]
    for name in re.finditer(r'\bconch_\w+', rule):
        yield rule[:name.start()] + 'conch_none' + rule[name.end():]


def expressions():
    """Of all panels, as Grafana sends them."""
    for panel in json.loads((DOC / 'grafana.json').read_text())['panels']:
        for target in panel.get('targets', []):
            text = target['expr'].replace('$__rate_interval', '5m')
            yield re.sub(r'"\$\w+"', '".*"', text)


def rules_of(lines):
    text = ''.join(f'      - {{record: "r:{i}", expr: {json.dumps(line)}}}\n'
                   for i, line in enumerate(lines))
    return 'groups:\n  - name: dashboard\n    rules:\n' + text


class Alerts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='conch-alerts-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_rules_are_valid(self):
        fine, said = promtool('check', 'rules', ALERTS)
        self.assertTrue(fine, said)

    def test_each_alert_has_its_file(self):
        self.assertGreater(len(alerts()), 5)
        self.assertEqual(sorted(alerts()), sorted(file.stem for file in HERE.glob('*.yml')))

    def test_each_alert_fires_when_it_should_and_only_then(self):
        for file in sorted(HERE.glob('*.yml')):
            with self.subTest(file.stem):
                fine, said = promtool('test', 'rules', file)
                self.assertTrue(fine, said)

    def test_a_broken_alert_is_noticed(self):
        (self.folder / 'broken').mkdir()
        for name, rule in alerts().items():
            test = (HERE / f'{name}.yml').read_text()
            self.assertIn('[../../src/doc/alerts.yml]', test)
            file = self.folder / f'{name}.yml'
            file.write_text(test.replace('../../src/doc/alerts.yml', 'broken/alerts.yml'))
            for other in broken(rule):
                with self.subTest(name, rule=other):
                    (self.folder / 'broken' / 'alerts.yml').write_text(
                        'groups:\n  - name: conch\n    rules:\n' + other)
                    fine, said = promtool('test', 'rules', file)
                    self.assertFalse(fine)
                    self.assertIn('FAILED', said)
                    self.assertIn(f'alertname: {name},', said)

    def check_rules(self, lines):
        file = self.folder / 'rules.yml'
        file.write_text(rules_of(lines))
        return promtool('check', 'rules', file)

    def test_each_expression_of_the_dashboard_can_be_parsed(self):
        lines = list(expressions())
        self.assertGreater(len(lines), 15)
        self.assertNotIn('$', ''.join(lines))
        fine, said = self.check_rules(lines)
        self.assertTrue(fine, said)
        fine, said = self.check_rules(lines[:-1] + [lines[-1] + ')'])
        self.assertFalse(fine)
        self.assertIn(f'r:{len(lines) - 1}', said)


if __name__ == '__main__':
    if PROMTOOL is None:
        print('SKIPPED: alerts: promtool was not found (Debian: prometheus)')
        sys.exit(0)
    unittest.main()
