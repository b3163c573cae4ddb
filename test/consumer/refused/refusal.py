#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A compiler refuses a program, in one error of few lines that says what to write.

usage: refusal.py MOST_LINES WORDS COMPILER [ARGUMENT...]
"""
import subprocess
import sys

most, words, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
compiler = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(compiler.stdout)
if compiler.returncode == 0:
    sys.exit('it was accepted')
if words not in compiler.stdout:
    sys.exit(f'these words are missing: {words}')
if (lines := compiler.stdout.count('\n')) > most:
    sys.exit(f'{lines} lines, more than {most}')
if (errors := compiler.stdout.count(': error: ')) > 1:
    sys.exit(f'{errors} errors')
