// SPDX-License-Identifier: BSL-1.0
// How locks are listed.
#include "cli/lock_table.hpp"
#include "cli/command_error.hpp"
#include "cli/lock_text.hpp"
#include "cli/lock_waits.hpp"
#include "cli/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace {

using namespace conch;
using namespace conch::cli;
using namespace std::chrono_literals;

lock_entry lock_named(const std::string& name) {
    lock_entry e;
    e.name = name;
    e.holders = {{"5c1e0a8e-0000-4000-8000-000000000001:7", client_place{}}};
    e.holders[0].place->host = "web-1";
    e.holders[0].place->pid = 4711;
    e.held_by = e.depth = 1;
    e.ttl = 21s;
    e.waiting = 0;
    return e;
}

std::vector<std::string> names_in_order(const std::vector<lock_entry>& all) {
    std::vector<std::string> out;
    for (const lock_entry& e : all) {
        out.push_back(e.name);
    }
    return out;
}

TEST(lock_table, times_are_short) {
    EXPECT_EQ(compact_time(0ms), "<1ms");
    EXPECT_EQ(compact_time(999us), "<1ms");
    EXPECT_EQ(compact_time(1ms), "1ms");
    EXPECT_EQ(compact_time(850ms), "850ms");
    EXPECT_EQ(compact_time(21900ms), "21s");
    EXPECT_EQ(compact_time(192s), "3m12s");
    EXPECT_EQ(compact_time(2h + 5min), "2h05m");
    EXPECT_EQ(compact_time(103h), "4d07h");
}

TEST(lock_table, times_are_read_with_their_units) {
    EXPECT_EQ(parse_time("--held-longer", "90"), 90s);
    EXPECT_EQ(parse_time("--held-longer", "500ms"), 500ms);
    EXPECT_EQ(parse_time("--held-longer", "1.5h"), 90min);
    EXPECT_EQ(parse_time("--held-longer", "2d"), 48h);
    EXPECT_EQ(parse_seconds("--wait", "0.25", 0s, 24h), 250ms);
    EXPECT_EQ(parse_seconds("--wait", "20h", 0s, 24h), 20h);
    EXPECT_THROW(parse_seconds("--wait", "25h", 0s, 24h), usage_error);
    EXPECT_THROW(parse_seconds("--wait", "5x", 0s, 24h), usage_error);
    for (const char* const bad :
         {"m", "5 m", "-5m", "5x", "1e9", "9999999999", "99999d", "5m5", ".", "5mm"}) {
        EXPECT_THROW(parse_time("--held-longer", bad), usage_error) << bad;
    }
}

TEST(lock_table, tells_the_longest_wait_that_a_holder_of_another_lock_tells) {
    std::vector<lock_entry> all{lock_named("a"), lock_named("b"), lock_named("c")};
    all[0].holders[0].waits = {{"c", 3s}, {"elsewhere", 9s}};
    all[1].holders[0].waits = {{"c", 12s}, {"b", 1s}};
    all[2].waiting = 2;
    note_longest_waits(all);
    EXPECT_EQ(all[0].longest_wait, std::nullopt);
    EXPECT_EQ(all[1].longest_wait, 1s);
    EXPECT_EQ(all[2].longest_wait, 12s);
    EXPECT_NE(table_of(all, 0).find(" 2 (12s) "), std::string::npos) << table_of(all, 0);
}

TEST(lock_table, has_a_line_for_each_lock) {
    EXPECT_EQ(table_of({lock_named("orders:7")}, 0),
              "NAME      KIND   HOLDER      SERVICE  HELD  LEASE  DEPTH  WAITING  FENCE\n"
              "orders:7  mutex  web-1:4711  -           -    21s      1        0      -\n");
}

TEST(lock_table, on_a_terminal_leaves_out_what_says_nothing_and_cuts_what_is_long) {
    lock_entry e = lock_named(std::string(200, 'n'));
    e.fence = 1'789'000'000'000'000;
    e.held = 192s;
    for (const std::size_t width : {80u, 120u, 60u}) {
        const std::string table = table_of({e}, width);
        std::istringstream lines{table};
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(line.size(), width) << table;
        }
        EXPECT_NE(table.find("nnnn~ "), std::string::npos) << table;
        EXPECT_NE(table.find("web-1:4711"), std::string::npos) << table;
        EXPECT_NE(table.find("3m12s"), std::string::npos) << table;
        EXPECT_EQ(table.find("SERVICE"), std::string::npos) << table;
    }
}

TEST(lock_table, a_terminal_gets_nothing_that_it_obeys) {
    lock_entry e = lock_named("a\033[2Jb");
    e.holders[0].place->host = "\033[31mred";
    e.holders[0].place->service =
        "\x9b"
        "0m";
    const std::string all = table_of({e}, 80) + whole_text(e, true, "");
    EXPECT_EQ(all.find('\033'), std::string::npos) << all;
    EXPECT_EQ(all.find('\x9b'), std::string::npos) << all;
}

TEST(lock_table, a_name_of_many_bytes_is_cut_between_characters) {
    std::string name;
    for (int i = 0; i < 100; ++i) {
        name += "\u00e9";
    }
    const std::string table = table_of({lock_named(name)}, 80);
    EXPECT_NE(table.find("\u00e9~ "), std::string::npos) << table;
    EXPECT_EQ(valid_utf8(table), table);
}

TEST(lock_table, a_holder_without_a_connection_is_told_by_its_field) {
    EXPECT_EQ(holder_text({"6f3c1a2e-0000-4000-8000-000000000001:42", {}}), "6f3c1a2e..:42");
    EXPECT_EQ(holder_text({"0f3a9b1c2d4e5f60718293a4b5c6d7e8", {}}), "0f3a9b1c..");
    EXPECT_EQ(holder_text({"job", {}}), "job");
    lock_entry e = lock_named("readers");
    e.kind = entry_kind::reading;
    e.held_by = 3;
    EXPECT_NE(table_of({e}, 0).find("web-1:4711 +2"), std::string::npos);
}

TEST(lock_table, what_is_looked_for_comes_first_and_what_is_unknown_last) {
    std::vector<lock_entry> all{lock_named("a"), lock_named("b"), lock_named("c"), lock_named("d")};
    all[0].held = 1s;
    all[1].held = 100s;
    all[0].ttl = std::nullopt;
    all[1].ttl = 5s;
    all[2].waiting = 9;
    all[3].waiting = std::nullopt;
    all[3].holders[0].place->service = "billing";
    sort_by(column::held, all);
    EXPECT_EQ(names_in_order(all), (std::vector<std::string>{"b", "a", "c", "d"}));
    sort_by(column::lease, all);
    EXPECT_EQ(names_in_order(all), (std::vector<std::string>{"b", "c", "d", "a"}));
    sort_by(column::waiting, all);
    EXPECT_EQ(names_in_order(all), (std::vector<std::string>{"c", "a", "b", "d"}));
    sort_by(column::service, all);
    EXPECT_EQ(names_in_order(all), (std::vector<std::string>{"d", "a", "b", "c"}));
    sort_by(column::name, all);
    EXPECT_EQ(names_in_order(all), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(lock_table, for_how_long_it_is_held_is_not_known_without_a_fence) {
    lock_entry e = lock_named("orders:7");
    const std::string why =
        "  held        - (no fence tells it; \"conch run\" takes one with --fenced)\n";
    EXPECT_NE(whole_text(e, true, "").find(why), std::string::npos) << whole_text(e, true, "");
    e.fence = 7;
    EXPECT_EQ(whole_text(e, true, "").find("  held "), std::string::npos) << "it counts otherwise";
    e.fence = 0;
    e.kind = entry_kind::reading;
    EXPECT_EQ(whole_text(e, true, "").find("  held "), std::string::npos) << "it takes no fences";
}

TEST(lock_table, what_frees_a_lock_names_its_server) {
    const lock_entry e = lock_named("-orders");
    const std::string text = whole_text(e, true, "redis://10.0.0.5");
    const std::string command =
        "\"conch release --force --redis redis://10.0.0.5 -- -orders\" takes";
    EXPECT_NE(text.find(command), std::string::npos) << text;
}

TEST(lock_table, a_name_that_no_terminal_shows_is_in_no_command) {
    const std::string text = whole_text(lock_named("a\nb"), true, "");
    EXPECT_NE(text.find("no command: its name has bytes that a terminal does not show"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("conch release"), std::string::npos) << text;
}

TEST(lock_table, no_figure_is_nothing_and_one_is_no_plural) {
    lock_entry e = lock_named("orders:7");
    e.ttl = 0ms;
    e.held = 900us;
    e.waiting = 1;
    e.chain.push_back({{.name = "mails", .so_long = 0ms}, 0, wait_step::state::free, {}});
    const std::string text = whole_text(e, true, "");
    for (const char* const part :
         {", connected for less than 1s, idle for less than 1s\n",
          "for less than 1ms, by its fence", "ends in less than 1ms unless renewed",
          "  waiting     1 client\n", "mails for less than 1ms, which nobody holds now"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
    }
    EXPECT_EQ(ending_of({.ttl = 0ms}), "ends in less than 1 ms unless renewed");
    EXPECT_EQ(ending_of({.ttl = 1ms}), "ends in 1.00 ms unless renewed");
    EXPECT_EQ(short_time(0ms), "less than 1 us");
    EXPECT_EQ(short_time(1us), "1 us");
    EXPECT_EQ(counted(1, "permit"), "1 permit");
    EXPECT_EQ(counted(0, "permit"), "0 permits");
    EXPECT_EQ(counted(2, "process", "es"), "2 processes");
}

TEST(lock_table, one_lock_is_told_whole) {
    lock_entry e = lock_named("orders:7");
    e.kind = entry_kind::fair;
    e.waiting = 1;
    e.line = {{"6f3c1a2e-0000-4000-8000-000000000001:42", {}}};
    e.fence = 1'789'000'000'000'000;
    e.held = 192s;
    const std::string text = whole_text(e, true, "");
    for (const char* const part :
         {"orders:7: fair mutex, locked\n", "process 4711 on web-1", "for 3m12s, by its fence\n",
          "ends in 21s unless renewed\n", "1 in line\n", "1. 6f3c1a2e-",
          "\"conch release --force --fair orders:7\" takes it from this holder"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
    }
}

}  // namespace
