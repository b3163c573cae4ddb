#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Feeds generate.py small sources: what it must find whatever else changes, and what is lost."""
import pathlib
import unittest

import generate
import listing
import places

STATEMENT = """mutant late
edit timer::arm
- set(t, ...);
+ set(t, later);
"""
ARM = "void timer::arm(int t) {\n    const int d = 2;\n    set(t, after(now, d));\n}\n"
MUTATED = "if (conch::mutants::on(0)) { set(t, later); } else { set(t, after(now, d)); }"


def made(listed, **files):
    """The mutated sources as one text, and why each mutant is lost."""
    mutants = listing.parse(listed)
    sources = {}
    for name, text in files.items():
        path = f"src/x/{name.replace('_', '.')}"
        sources[path] = places.Source(path, text)
    out = generate.generate(sources, mutants)
    return "\n".join(t for p, t in sorted(out.items()) if p.startswith("src/")), [
        m.lost for m in mutants]


class Case(unittest.TestCase):
    def finds(self, expected, listed, **files):
        text, lost = made(listed, **files)
        self.assertEqual(lost, [""] * len(lost))
        self.assertIn(expected, text)

    def loses(self, why, listed, **files):
        text, lost = made(listed, **files)
        self.assertEqual(len(lost), 1)
        self.assertIn(why, lost[0])
        self.assertNotIn("mutants::on", text)


class Found(Case):
    def test_where_it_always_stood(self):
        self.finds(MUTATED, STATEMENT, a_cpp=ARM)

    def test_though_an_unrelated_local_is_renamed(self):
        renamed = ARM.replace("d = 2", "delay = 2").replace(", d)", ", delay)")
        self.finds(MUTATED.replace(", d)", ", delay)"), STATEMENT, a_cpp=renamed)

    def test_though_another_function_says_the_same(self):
        for other in ("void timer::disarm", "void arm", "void clock::arm", "int f"):
            self.finds(MUTATED, STATEMENT, a_cpp=ARM.replace("void timer::arm", other) + ARM)

    def test_in_another_file(self):
        self.finds(MUTATED, STATEMENT, a_cpp="int x;\n", b_cpp="namespace n {\n" + ARM + "}\n")

    def test_in_the_body_of_the_class(self):
        inside = ARM.replace("timer::", "")
        self.finds(MUTATED, STATEMENT, a_hpp="class timer : base {\npublic:\n" + inside + "};\n")

    def test_whatever_the_layout_and_the_comments(self):
        laid_out = ARM.replace("set(t,", "set(  // so\n        t,")
        self.finds("later); } else { set(  // so\n", STATEMENT, a_cpp=laid_out)

    def test_in_one_of_two_functions_of_a_name(self):
        self.finds(MUTATED, STATEMENT, a_cpp="void timer::arm() { stop(); }\n" + ARM)

    def test_in_the_file_that_is_named(self):
        listed = STATEMENT.replace("timer::arm", "src/x/b.cpp arm")
        text, lost = made(listed, a_cpp=ARM, b_cpp=ARM)
        self.assertEqual(lost, [""])
        self.assertEqual(text.count("mutants::on"), 1)
        self.assertGreater(text.index("mutants::on"), text.index("timer::arm"))

    def test_in_no_function(self):
        self.finds("int a = (conch::mutants::on(0) ? (2) : (1));",
                   "mutant m\nedit src/x/a.cpp\n= 1\n+ 2\n", a_cpp="int a = 1;\n")

    def test_in_what_initialises_a_member(self):
        self.finds("a{(conch::mutants::on(0) ? (2) : (1))}", "mutant m\nedit f::f\n= 1\n+ 2\n",
                   a_cpp="f::f() : a{1} {}\n")

    def test_behind_the_words_that_it_comes_after(self):
        listed = "mutant m\nedit f\nafter case two:\n- g();\n+ h();\n"
        self.finds("case two: if (conch::mutants::on(0)) { h(); } else { g(); }", listed,
                   a_cpp="void f() { case one: g(); case two: g(); case three: g(); }\n")

    def test_in_a_script(self):
        files = generate.generate(
            {"src/x/a.lua": places.Source("src/x/a.lua", "-- set(1)\nset(1)\n")},
            listing.parse("mutant m\nedit src/x/a.lua\n- set(1)\n+ set(2)\n"))
        self.assertIn("-- set(1)\nset(2)\n", files["mutant_table.hpp"])


class Lost(Case):
    def test_what_stands_there_no_more(self):
        self.loses("found 0 times in timer::arm", STATEMENT, a_cpp=ARM.replace("set(", "put("))

    def test_what_stands_there_twice(self):
        self.loses("found 2 times in timer::arm", STATEMENT,
                   a_cpp=ARM.replace("}", "    set(t, never);\n}"))

    def test_what_is_a_comment_now(self):
        self.loses("found 0 times", STATEMENT, a_cpp=ARM.replace("    set", "    // set"))

    def test_a_function_that_is_gone(self):
        self.loses("no function timer::arm", STATEMENT, a_cpp=ARM.replace("arm", "start"))

    def test_a_file_that_is_gone(self):
        self.loses("no file src/x/b.cpp", STATEMENT.replace("timer", "src/x/b.cpp timer"),
                   a_cpp=ARM)

    def test_words_that_are_part_of_longer_ones(self):
        self.loses("found 0 times", STATEMENT, a_cpp=ARM.replace("set(t", "reset(t"))

    def test_a_gap_over_the_end_of_a_statement_or_a_bracket(self):
        listed = "mutant m\nedit f\n= a ... b\n+ c\n"
        for body in ("a; b;", "g(a) + b;", "a + g(b);"):
            self.loses("found 0 times", listed, a_cpp=f"void f() {{ {body} }}\n")
        self.finds("(a + g(1; 2) + b)", listed, a_cpp="void f() { a + g(1; 2) + b; }\n")

    def test_a_pattern_of_nothing(self):
        self.loses("not a pattern", "mutant m\nedit f\n- ...\n+ g();\n", a_cpp="void f() {}\n")

    def test_all_edits_of_it_and_no_other_mutant(self):
        listed = STATEMENT + "edit timer::arm\n= 3\n+ 4\n" + STATEMENT.replace("late", "other")
        text, lost = made(listed, a_cpp=ARM)
        self.assertEqual([bool(w) for w in lost], [True, False])
        self.assertNotIn("on(0)", text)
        self.assertIn("on(1)", text)

    def test_what_overlaps_another(self):
        listed = ("mutant m\nedit f\n= a + b\n+ 1\n"
                  "mutant n\nedit f\n= b + c\n+ 2\n")
        _, lost = made(listed, a_cpp="int f() { return a + b + c; }\n")
        self.assertEqual(lost[0], "")
        self.assertIn("overlaps", lost[1])


class Tests(unittest.TestCase):
    FILE = "test/sim/mutants/self_test.py"
    ROOT = pathlib.Path(__file__).resolve().parents[3]

    def mutant(self, expected):
        found, = listing.parse(f"mutant m\nexpect {expected}\n")
        return found

    def test_what_is_expected_of_a_mutant(self):
        for said, outcome, seed, test, because in (
                ("survives: who knows", "survives", 0, "", "who knows"),
                ("survives, a.cpp: it: does", "survives", 0, "a.cpp", "it: does"),
                ("seed 12, a.cpp: few do", "fails", 12, "a.cpp", "few do"),
                ("rare: a.cpp", "rare", 0, "a.cpp", "")):
            m = self.mutant(said)
            self.assertEqual((m.outcome, m.seed, m.test, m.because),
                             (outcome, seed, test, because))

    def test_which_seed_is_tried_first_and_which_test_stands_beside_it(self):
        for said, test in (("first seed 12", ""), ("first seed 12, a.cpp", "a.cpp")):
            found, = listing.parse(f"mutant m\n{said}\n")
            self.assertEqual((found.first, found.seed, found.test), (12, 0, test))
            self.assertEqual(found.outcome, "fails")
        for said in ("first seed 0", "first seed", "first 12", "first seed 12,"):
            with self.assertRaises(SystemExit):
                listing.parse(f"mutant m\n{said}\n")

    def test_a_seed_without_a_test_beside_it_is_not_understood(self):
        for said in ("seed 12: few do", "seed 0, a.cpp: few do", "rare: ", "survives"):
            with self.assertRaises(SystemExit):
                self.mutant(said)

    def test_a_mutant_is_lost_with_its_test(self):
        here = "test/sim/scripts/ttl_test.cpp"
        for file, lost in ((here, ""), ("test/unit/engine/no_test.cpp", "no file"),
                           (self.FILE, "is in none of")):
            m = self.mutant(f"rare: {file}")
            generate.look_for_tests([m], self.ROOT)
            self.assertIn(lost, m.lost)
            self.assertEqual(lost == "", m.lost == "")
            files = generate.generate({}, [m])
            self.assertEqual(files["tests.txt"], "" if lost else here + "\n")


class Nested(Case):
    def test_several_mutants_of_one_place(self):
        listed = ("mutant m\nedit f\n= a + b\n+ 1\nmutant n\nedit f\n= b\n+ 2\n"
                  "mutant o\nedit f\n= a + b\n+ 3\n")
        self.finds("return (conch::mutants::on(0) ? (1) : ((conch::mutants::on(2) ? (3) : "
                   "(a + (conch::mutants::on(1) ? (2) : (b))))));",
                   listed, a_cpp="int f() { return a + b; }\n")


if __name__ == "__main__":
    unittest.main()
