#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Feeds tidy samples of what it must find, and of what it must leave alone."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tidy
from source_file import SourceFile, read_tree

SPDX = '// SPDX-License-Identifier: BSL-1.0\n'


def rules_found(path: str, text: str, licence: bool = True):
    """The rules that one file breaks, with the lines of the text (licence line not counted)."""
    f = SourceFile(path, SPDX + text if licence else text)
    return [(x.rule, x.line - 1) for x in tidy.check([f])]


def header(guard: str, body: str) -> str:
    return f'#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n'


class Case(unittest.TestCase):
    def finds(self, rule, path, text, line=1):
        self.assertEqual(rules_found(path, text), [(rule, line)], text)

    def accepts(self, path, text):
        self.assertEqual(rules_found(path, text), [], text)


class Layering(Case):
    def test_a_lower_layer_does_not_see_a_higher_one(self):
        order = ['core', 'resp', 'wire', 'hold', 'wait', 'group', 'engine', 'driver', 'api']
        for low, high in zip(order, order[1:]):
            self.finds('layering', f'src/{low}/a.cpp', f'#include "{high}/b.hpp"\n')
            self.accepts(f'src/{high}/a.cpp', f'#include "{low}/b.hpp"\n#include "{high}/b.hpp"\n')

    def test_topology_sees_wire_and_wire_does_not_see_topology(self):
        self.accepts('src/topology/a.cpp', '#include "wire/b.hpp"\n')
        self.finds('layering', 'src/wire/a.cpp', '#include "topology/b.hpp"\n')

    def test_values_of_the_public_headers_are_for_all_layers(self):
        for name in ('clock', 'error', 'config', 'options', 'owner', 'lock_status', 'stats',
                     'observer', 'tls'):
            self.accepts('src/core/a.cpp', f'#include <conch/{name}.hpp>\n')

    def test_handles_are_for_the_api(self):
        for layer in ('core', 'hold', 'wait', 'group', 'engine', 'driver'):
            self.finds('layering', f'src/{layer}/a.cpp', '#include <conch/client.hpp>\n')
        self.accepts('src/api/a.cpp', '#include <conch/client.hpp>\n')

    def test_operations_are_for_the_driver_and_above(self):
        for name in ('operation', 'fwd'):
            self.finds('layering', 'src/engine/a.cpp', f'#include <conch/impl/{name}.hpp>\n')
            self.accepts('src/driver/a.cpp', f'#include <conch/impl/{name}.hpp>\n')
            self.finds('layering', 'src/cli/a.cpp', f'#include <conch/impl/{name}.hpp>\n')
        self.finds('layering', 'src/driver/a.cpp', '#include <conch/impl/initiate.hpp>\n')

    def test_an_optional_library_is_for_its_adapter_alone(self):
        for name in ('prometheus', 'opentelemetry'):
            include = f'#include <{name}/a.h>\n'
            self.accepts(f'src/{name}/a.cpp', include)
            self.accepts(f'include/conch/{name}.hpp', header(f'CONCH_{name.upper()}_HPP', include))
            for file in ('src/api/a.cpp', 'src/engine/a.cpp', 'src/cli/a.cpp'):
                self.finds('layering', file, include)
            text = header('CONCH_METRICS_HPP', include)
            self.finds('layering', 'include/conch/metrics.hpp', text, line=4)

    def test_no_system_below_the_sans_io_line(self):
        for name in ('boost/asio.hpp', 'boost/asio/post.hpp', 'thread', 'mutex', 'random', 'ctime',
                     'unistd.h', 'sys/socket.h'):
            self.finds('layering', 'src/hold/a.cpp', f'#include <{name}>\n')
            self.accepts('src/driver/a.cpp', f'#include <{name}>\n')

    def test_no_clock_is_read_below_the_sans_io_line(self):
        self.finds('layering', 'src/engine/a.cpp', 'auto t = conch::clock::now();\n')
        self.accepts('src/engine/a.cpp', '// never clock::now()\nauto t = e.now();\n')
        self.accepts('src/driver/a.cpp', 'auto t = conch::clock::now();\n')

    def test_commands_are_written_where_it_is_known_what_stands_on_the_server(self):
        for text in ('void f() { w.command(2).arg("DEL"); }', 'void f() { w->command (1); }',
                     'void f() { wire::write_script(w, c, id, 1, 1); }',
                     'void f() { write_joint(w, calls); }', 'void f() { w.words(all); }'):
            for layer in ('core', 'hold', 'wait', 'group', 'engine', 'driver', 'api'):
                self.finds('layering', f'src/{layer}/a.cpp', text + '\n')
            for layer in ('resp', 'wire', 'protocol', 'topology', 'cli'):
                self.accepts(f'src/{layer}/a.cpp', text + '\n')
        self.accepts('src/wait/a.cpp', '// w.command(2)\nvoid f() { g(q.command.size()); }\n')

    def test_the_program_uses_the_public_headers_only(self):
        self.finds('layering', 'src/cli/a.cpp', '#include "core/b.hpp"\n')
        self.accepts('src/cli/a.cpp', '#include "cli/b.hpp"\n#include <conch/conch.hpp>\n')
        self.finds('layering', 'src/api/a.cpp', '#include "cli/b.hpp"\n')

    def test_includes_name_their_layer_and_their_kind(self):
        self.finds('layering', 'src/core/a.cpp', '#include "b.hpp"\n')
        self.finds('layering', 'src/core/a.cpp', '#include <core/b.hpp>\n')
        self.finds('layering', 'src/core/a.cpp', '#include "conch/error.hpp"\n')

    def test_a_public_header_does_not_see_the_private_ones(self):
        text = header('CONCH_A_HPP', '#include "core/b.hpp"')
        self.finds('layering', 'include/conch/a.hpp', text, line=4)

    def test_a_commented_include_is_none(self):
        self.accepts('src/core/a.cpp', '// #include "api/b.hpp"\n')


class Scripts(Case):
    def test_the_key_of_a_command_is_spelled_keys(self):
        for text in ("local k = KEYS[1] redis.call('get', k)\n", "redis.pcall('hget', ARGV[1])\n"):
            self.assertEqual([x.rule for x in tidy.check(
                [SourceFile('src/lua/a.lua', '-- SPDX-License-Identifier: BSL-1.0\n' + text)])],
                ['key'], text)
        fine = "redis.call('get', KEYS[i]) redis.call('time') redis.pcall('publish', ARGV[2])\n"
        self.assertEqual(tidy.check(
            [SourceFile('src/lua/a.lua', '-- SPDX-License-Identifier: BSL-1.0\n' + fine)]), [])


class Sizes(Case):
    def test_a_long_file(self):
        self.finds('file size', 'test/a.cpp', 'int x;\n' * 400, line=0)
        self.accepts('test/a.cpp', 'int x;\n' * 399)

    def test_a_long_line(self):
        self.finds('line length', 'src/lua/a.lua', '-' * 101 + '\n')
        self.accepts('src/core/a.cpp', '// ' + 'ä' * 97 + '\n')

    def test_a_high_median(self):
        long = SourceFile('src/core/a.cpp', SPDX + 'int x;\n' * 149)
        short = SourceFile('src/core/b.cpp', SPDX)
        tests = [SourceFile(f'test/unit/{i}.cpp', SPDX) for i in range(5)]
        self.assertEqual([x.rule for x in tidy.check([long, long, short] + tests)],
                         ['median size'])
        self.assertEqual(tidy.check([long, short, short]), [])

    def private_members(self, head, label, lines, path='src/core/a.hpp'):
        text = header('CONCH_SRC_CORE_A_HPP',
                      head + ' {\n' + label + '    int i = 0;\n' * lines + 'public:\n'
                      '    struct s {\n    private:\n' + '        int j = 0;\n' * 40 + '    };\n'
                      + '    int k = 0;\n' * 30 + '};\n')
        return [rule for rule, _ in rules_found(path, text) if rule == 'private size']

    def test_a_class_with_many_private_members(self):
        for head in ('class c', 'class c : public b', 'template <class T>\nclass c final'):
            for lines, findings in ((60, []), (61, ['private size'])):
                self.assertEqual(self.private_members(head, 'private:\n', lines), findings)
        self.assertEqual(self.private_members('class c', '', 61), ['private size'])
        for head, label in (('struct c', ''), ('class c', 'protected:\n'), ('enum class c', '')):
            self.assertEqual(self.private_members(head, label, 61), [], head)
        self.assertEqual(self.private_members('class c', '', 61, 'test/unit/a.hpp'), [])

    def long_function(self, before, after='', line=1):
        body = '    f("}");  // }\n'
        for lines, findings in ((68, []), (69, [('function size', line)])):
            text = before + ' {\n' + body * lines + '}' + after + '\n'
            self.assertEqual(rules_found('src/core/a.cpp', text), findings, before)

    def test_a_long_function_in_all_its_forms(self):
        for head in ('void f()', 'auto f() -> std::vector<int>', 'TEST(a, b)',
                     'template <class T>\n    requires std::integral<T>\nvoid f(T x) noexcept',
                     'x::x(int a) : a_{a}, b_(a), c_{[] { return 1; }()}',
                     'void f(options o = {}, int x = 3) const', 'bool operator<(a x, b y)',
                     'std::map<int, int> x::f() const&', 'asio::awaitable<void> f() try'):
            self.long_function(head, line=head.count('\n') + 1)

    def test_a_long_function_inside_of_scopes(self):
        self.long_function('namespace a::b {\nnamespace {\nint x{3};\nvoid f()', '}}', line=4)
        self.long_function('namespace a {\nclass b final : c<d> {\npublic:\n    b()', ';}', line=4)
        self.long_function('extern "C" {\nstruct s {};\n#define A {\nint f()', '}', line=4)
        self.long_function('template <class T>\nstruct [[nodiscard]] a<T*> {\n    int operator()()',
                           '};', line=3)

    def test_a_long_class_or_table_is_no_function(self):
        self.accepts('src/core/a.cpp', 'class a {\n' + '    int f() { return 1; }\n' * 90 + '};\n')
        self.accepts('src/core/a.cpp', 'constexpr int a[] = {\n' + '    1,\n' * 90 + '};\n')
        self.accepts('src/core/a.cpp', 'enum class a : int {\n' + '    b,\n' * 90 + '};\n')


class Forms(Case):
    def test_an_await_in_a_condition(self):
        for text in ('if (co_await f()) {}', 'while (!co_await f()) {}', 'switch (co_await f()) {}',
                     'if (x == co_await f()) {}', 'if (f(\n  co_await g())) {}'):
            self.finds('co_await', 'test/unit/a.cpp', f'void g() {{ {text} }}\n')
        self.accepts('src/core/a.cpp', 'void g() { if (auto h = co_await f()) {} }\n')
        self.accepts('src/core/a.cpp', 'void g() { if (x) { co_await f(); } }\n')

    def test_an_await_in_a_test_macro(self):
        self.finds('co_await', 'test/unit/a.cpp', 'void g() { EXPECT_EQ(co_await f(), (1)); }\n')
        self.finds('co_await', 'test/unit/a.cpp', 'void g() { ASSERT_TRUE(\nco_await f()); }\n')
        self.accepts('test/unit/a.cpp', 'void g() { auto x = co_await f(); EXPECT_TRUE(x); }\n')

    def test_a_default_in_a_switch_over_an_enum(self):
        switch = 'void g() {{ switch (x) {{\ncase {0}: break;\ndefault: break; }} }}\n'
        for layer in ('core', 'engine', 'api'):
            self.finds('default', f'src/{layer}/a.cpp', switch.format('errc::a'), line=3)
        self.accepts('src/core/a.cpp', switch.format("'a'"))
        self.accepts('src/core/a.cpp', 'struct a { a() = default; };\n')

    def test_a_sleep_in_a_test(self):
        for text in ('std::this_thread::sleep_for(d);', 'usleep(3);', '::sleep(1);',
                     'run("sleep 5");'):
            self.finds('sleep', 'test/integration/a.cpp', f'void g() {{ {text} }}\n')
        self.assertEqual(rules_found('test/a.sh', '# SPDX-License-Identifier: BSL-1.0\nsleep 2\n',
                                     licence=False), [('sleep', 1)])
        self.accepts('test/unit/a.cpp', '// no sleep 5 here\nvoid never_sleeps();\n')

    def test_using_namespace_in_a_header(self):
        guard = 'CONCH_SRC_CORE_A_HPP'
        self.finds('using namespace', 'src/core/a.hpp', header(guard, 'using namespace std;'), 4)
        self.accepts('src/core/a.hpp', header(guard, 'inline void f() { using namespace std; }'))
        self.accepts('src/core/a.cpp', 'using namespace std::chrono_literals;\n')
        literals = 'using namespace std::chrono_literals;'
        self.accepts('test/a.hpp', header('CONCH_TEST_A_HPP', literals))
        self.finds('using namespace', 'bench/a.hpp', header('CONCH_BENCH_A_HPP', literals), 4)
        self.finds('using namespace', 'test/a.hpp',
                   header('CONCH_TEST_A_HPP', 'using namespace conch;'), 4)

    def test_heavy_types_below_the_driver(self):
        for text in ('std::shared_ptr<int> x;', 'std::function<void()> x;',
                     'struct a { virtual void f(); };'):
            self.finds('hot path', 'src/engine/a.cpp', text + '\n')
            self.accepts('src/driver/a.cpp', text + '\n')
        text = header('CONCH_SRC_CORE_LOG_HPP', 'using sink = std::function<void()>;')
        self.accepts('src/core/log.hpp', text)

    def test_a_missing_licence(self):
        for path in ('src/core/a.cpp', 'src/lua/a.lua', 'test/a.py', 'src/a.sh', 'CMakeLists.txt',
                     'src/lua/a.cmake', '.ci/run', '.clang-format'):
            self.assertEqual(rules_found(path, '\n\n', licence=False), [('licence', 0)], path)

    def test_an_include_guard_that_is_missing_or_wrong(self):
        for text in ('int x;\n', '#pragma once\nint x;\n', header('CONCH_CORE_A_HPP', 'int x;'),
                     header('CONCH_SRC_CORE_A_HPP', 'int x;') + 'int y;\n'):
            self.finds('include guard', 'src/core/a.hpp', text, line=0)
        for path, guard in (('include/conch/impl/a.hpp', 'CONCH_IMPL_A_HPP'),
                            ('src/core/a.hpp', 'CONCH_SRC_CORE_A_HPP'),
                            ('test/support/a.hpp', 'CONCH_TEST_SUPPORT_A_HPP'),
                            ('bench/a.hpp', 'CONCH_BENCH_A_HPP')):
            self.accepts(path, header(guard, 'int x;'))

    def test_a_path_of_one_machine(self):
        for folder in ('root', 'home', 'work'):
            self.finds('machine path', 'README.md', f'see `/{folder}/x`\n')
            self.accepts('README.md', f'see <https://redis.io/{folder}/x> and src/{folder}/x\n')


class Namesakes(Case):
    def test_a_free_function_that_has_a_namesake_in_std(self):
        for text in ('std::string quoted(std::string_view s);', 'inline auto move(x* a) { }',
                     'template <class T>\nbool begin(T& a) { }', 'std::vector<int>& find(y);',
                     'int x = 1;\nnamespace a {\nnamespace { void f() {}\nint round(x); }}',
                     '[[nodiscard]] x&& merge(a);', 'extern "C" { void f() { }\nint sort(x); }'):
            self.finds('namesake', 'src/cli/a.cpp', text + '\n', line=text.count('\n') + 1)
            self.finds('namesake', 'bench/a.cpp', text + '\n', line=text.count('\n') + 1)

    def test_what_no_lookup_by_arguments_confuses(self):
        for text in ('std::string in_quotes(std::string_view s);', 'void x::begin(int a) {}',
                     'struct a { int begin(); friend int end(a); };', 'auto x = find(y);',
                     'error_code make_error_code(errc e);', 'void f() { auto x = move(y); }',
                     'void f() { return begin(a); }', '#define A void find(int)'):
            self.accepts('src/cli/a.cpp', text + '\n')


class Tree(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)

    def write(self, *paths):
        for path in paths:
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text('x\n', encoding='utf-8')

    def read(self):
        return [f.path for f in read_tree(self.root)]

    def test_reads_the_project_and_not_what_is_built(self):
        self.write('src/core/a.cpp', 'build/src/b.cpp', 'test/fuzz/corpus/c/1', 'README.md')
        (self.root / 'test/blob').write_bytes(b'\xff\xfe')
        self.assertEqual(self.read(), ['README.md', 'src/core/a.cpp'])

    @unittest.skipUnless(shutil.which('git'), 'no git')
    def test_a_log_that_somebody_keeps_in_a_checkout_is_none_of_its_files(self):
        self.write('src/core/ä.cpp', 'README.md', 'test/gone.cpp')
        subprocess.run(['git', 'init', '--quiet', self.root], check=True)
        subprocess.run(['git', '-C', self.root, 'add', '.'], check=True)
        (self.root / 'test/gone.cpp').unlink()
        self.write('run.log', 'src/core/notes.txt')
        self.assertEqual(self.read(), ['README.md', 'src/core/ä.cpp'])


if __name__ == '__main__':
    unittest.main()
