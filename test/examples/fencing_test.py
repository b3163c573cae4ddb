#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The SQL of the page on guarantees lets no older fence write."""
import pathlib
import re
import sqlite3
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'src' / 'doc' / 'guarantees.md'
UPDATE = re.search(r'```sql\n(.*?)```', PAGE.read_text(), re.S).group(1)


class Fencing(unittest.TestCase):
    def setUp(self):
        self.rows = sqlite3.connect(':memory:')
        self.rows.execute('CREATE TABLE orders '
                          '(id int, state text, fence bigint NOT NULL DEFAULT 0)')
        self.rows.execute("INSERT INTO orders (id, state) VALUES (7, 'new'), (8, 'new')")

    def write(self, state, fence):
        return self.rows.execute(UPDATE, {'id': 7, 'state': state, 'fence': fence}).rowcount

    def test_who_holds_the_lock_may_write_again(self):
        self.assertEqual(self.write('paid', 5), 1)
        self.assertEqual(self.write('sent', 5), 1)

    def test_who_held_it_before_may_not(self):
        self.assertEqual(self.write('paid', 5), 1)
        self.assertEqual(self.write('new again', 4), 0)
        self.assertEqual(self.rows.execute('SELECT state, fence FROM orders').fetchall(),
                         [('paid', 5), ('new', 0)])


if __name__ == '__main__':
    unittest.main()
