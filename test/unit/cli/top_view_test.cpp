// SPDX-License-Identifier: BSL-1.0
// What `conch top` draws, and what its keys do.
#include "cli/top_view.hpp"
#include "cli/text_width.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace conch;
using namespace conch::cli;
using namespace std::chrono_literals;

lock_entry lock_waited_for(const std::string& name, std::uint64_t waiting,
                           std::optional<duration> held = {}) {
    lock_entry e;
    e.name = name;
    e.holders = {{"5c1e0a8e-0000-4000-8000-000000000001:7", client_place{}}};
    e.holders[0].place->host = "web-1";
    e.holders[0].place->pid = 4711;
    e.held_by = e.depth = 1;
    e.ttl = 21s;
    e.waiting = waiting;
    e.held = held;
    return e;
}

class top_view_test : public testing::Test {
protected:
    void type(const std::string& bytes) {
        for (const key& k : keys.read(bytes)) {
            view.press(k);
        }
    }
    void show(std::vector<lock_entry> locks) { view.show(std::move(locks), {}, began); }
    void show_numbered(std::size_t count) {
        std::vector<lock_entry> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(lock_waited_for("lock" + std::to_string(100 + i), 0));
        }
        show(std::move(all));
    }
    std::vector<screen_line> lines() { return view.lines(size, began + age); }
    std::string text() {
        std::string out;
        for (const screen_line& line : lines()) {
            out += line.text + '\n';
        }
        return out;
    }
    bool tells(const std::string& words) { return text().find(words) != std::string::npos; }
    /// How the chosen line begins.
    std::string chosen() {
        for (const screen_line& line : lines()) {
            if (line.style == line_style::chosen) {
                return line.text.substr(0, line.text.find(' '));
            }
        }
        return "";
    }
    /// The first words of the lines of locks.
    std::vector<std::string> order() {
        std::vector<std::string> out;
        for (const screen_line& line : lines()) {
            if (line.text.find("21s") != std::string::npos) {
                out.push_back(line.text.substr(0, line.text.find(' ')));
            }
        }
        return out;
    }

    using names = std::vector<std::string>;
    key_reader keys;
    top_view view{"conch top, redis://a", column::waiting};
    screen_size size{};
    time_point began{1h};
    duration age = 3s;
};

TEST_F(top_view_test, tells_how_old_the_picture_is_and_how_much_of_it_is_shown) {
    EXPECT_TRUE(tells("waiting for the first list"));
    show({lock_waited_for("a", 1), lock_waited_for("zeta", 2)});
    EXPECT_TRUE(tells("2 locks, 2 shown, by waiting, 3s old")) << text();
    type("/zeta\n");
    EXPECT_TRUE(tells("2 locks, 1 shown, by waiting, 3s old, filter \"zeta\"")) << text();
    type("p");
    EXPECT_TRUE(tells("PAUSED"));
}

TEST_F(top_view_test, sorts_by_waiting_time_held_and_name) {
    show({lock_waited_for("b", 1, 50s), lock_waited_for("c", 2), lock_waited_for("a", 0, 90s)});
    EXPECT_EQ(order(), (names{"c", "b", "a"}));
    type("t");
    EXPECT_EQ(order(), (names{"a", "b", "c"}));
    type("n");
    EXPECT_EQ(order(), (names{"a", "b", "c"}));
    type("w");
    EXPECT_EQ(order(), (names{"c", "b", "a"}));
}

TEST_F(top_view_test, fits_into_every_screen) {
    std::vector<lock_entry> all{lock_waited_for("naïve-日本語-ロック", 3),
                                lock_waited_for(std::string(300, 'n'), 7)};
    for (int i = 0; i < 60; ++i) {
        all.push_back(lock_waited_for("lock" + std::to_string(i), 0));
    }
    view.show(std::move(all), {"the server refused this user 3 answers"}, began);
    for (const char* const typed : {"", "?", "x/lo", "\n", "\x1b", "\n"}) {
        type(typed);
        for (const std::size_t columns : {1u, 2u, 7u, 40u, 80u, 200u}) {
            for (const std::size_t rows : {1u, 2u, 3u, 5u, 10u, 24u, 50u}) {
                size = {columns, rows};
                const std::vector<screen_line> seen = lines();
                EXPECT_LE(seen.size(), rows) << columns;
                EXPECT_EQ(rows > 2 ? seen.size() : rows, rows) << columns;
                for (const screen_line& line : seen) {
                    EXPECT_LE(width_of(line.text), columns) << rows << line.text;
                }
            }
        }
    }
}

TEST_F(top_view_test, at_80_columns_tells_name_holder_and_who_waits) {
    lock_entry e = lock_waited_for("billing:invoice:2026-11-27:customer-4711", 12, 192s);
    e.fence = 1'795'730'056'276'111;
    e.holders[0].place->service = "billing";
    show({e});
    for (const std::string words : {"billing:", "web-1:4711", "3m12s", "21s", "12"}) {
        EXPECT_TRUE(tells(words)) << words << '\n' << text();
    }
    size = {40, 10};
    for (const std::string words : {"billing", "web-1:4711", "3m12s", "12"}) {
        EXPECT_TRUE(tells(words)) << words << '\n' << text();
    }
}

TEST_F(top_view_test, the_mark_stays_with_its_lock) {
    show({lock_waited_for("a", 3), lock_waited_for("b", 2), lock_waited_for("c", 1)});
    EXPECT_EQ(chosen(), "a");
    type("jj\x1b[A");
    EXPECT_EQ(chosen(), "b");
    show({lock_waited_for("a", 3), lock_waited_for("b", 0), lock_waited_for("c", 1)});
    EXPECT_EQ(chosen(), "b");
    show({lock_waited_for("a", 3), lock_waited_for("c", 1)});
    EXPECT_EQ(chosen(), "c") << "the last of those that are left";
    show({});
    EXPECT_EQ(chosen(), "");
    EXPECT_TRUE(tells("nobody holds a lock"));
}

TEST_F(top_view_test, the_chosen_lock_is_always_seen) {
    show_numbered(100);
    for (const std::string move : {"\x1b[6~", "\x1b[6~", "j", "G", "\x1b[5~", "k", "g"}) {
        type(move);
        for (const std::size_t rows : {24u, 10u, 4u, 2u}) {
            size.lines = rows;
            EXPECT_NE(chosen(), "") << rows;
        }
        size.lines = 24;
        lines();
    }
    EXPECT_EQ(chosen(), "lock100");
    type("G");
    EXPECT_EQ(chosen(), "lock199");
}

TEST_F(top_view_test, the_filter_is_typed) {
    show({lock_waited_for("añb", 3), lock_waited_for("aqw", 2), lock_waited_for("c", 1)});
    type("/aq");
    EXPECT_EQ(order(), names{"aqw"}) << "q is a character here";
    EXPECT_FALSE(view.ended());
    type("\x7fñx\x7f\x7f");
    EXPECT_EQ(order(), (names{"añb", "aqw"})) << "a character is erased whole";
    type("z\n");
    EXPECT_TRUE(tells("no lock passes the filter"));
    type("\x1b");
    EXPECT_EQ(order().size(), 3u);
    type("/web-1\n");
    EXPECT_EQ(order().size(), 3u) << "holders are looked at too";
}

TEST_F(top_view_test, looks_at_one_and_back) {
    show({lock_waited_for("a", 3), lock_waited_for("b", 2)});
    type("j\n");
    ASSERT_EQ(view.one(), "b");
    EXPECT_FALSE(view.wants_list());
    EXPECT_TRUE(view.wants_one());
    view.show_one("a", "another one", began);
    EXPECT_FALSE(tells("another one"));
    view.show_one("b", "b: mutex, locked\n  holder      somebody\n", began);
    EXPECT_TRUE(tells("b: mutex, locked\n  holder      somebody\n"));
    type("\x1b");
    EXPECT_FALSE(view.one());
    EXPECT_EQ(chosen(), "b");
}

TEST_F(top_view_test, a_paused_picture_stays) {
    type("p");
    EXPECT_TRUE(view.wants_list()) << "there is none yet";
    show({lock_waited_for("a", 3)});
    EXPECT_FALSE(view.wants_list());
    show({lock_waited_for("b", 3)});
    EXPECT_EQ(order(), names{"a"});
    type(" ");
    EXPECT_TRUE(view.wants_list());
}

TEST_F(top_view_test, trouble_is_told_beside_the_last_picture) {
    show({lock_waited_for("a", 3)});
    view.show_trouble("no connection to redis://a");
    EXPECT_TRUE(tells("no connection to redis://a"));
    EXPECT_EQ(order(), names{"a"});
    show({lock_waited_for("a", 3)});
    EXPECT_FALSE(tells("no connection"));
}

TEST_F(top_view_test, a_terminal_gets_nothing_that_it_obeys) {
    show({lock_waited_for("a\033[2Jb", 3)});
    EXPECT_TRUE(tells("a?[2Jb"));
    type("/");
    view.press({key_kind::character, "a"});
    EXPECT_EQ(text().find('\033'), std::string::npos);
}

TEST(key_reader_test, keys_are_read_however_they_are_split) {
    const std::string typed = "q\x1b[A\x1bOB\x1b[5~ñ\x1b[1;5Cz\r\x7f";
    key_reader at_once;
    const std::vector<key> all = at_once.read(typed);
    EXPECT_EQ(all.size(), 9u);
    key_reader in_bytes;
    std::vector<key> split;
    for (const char c : typed) {
        for (const key& k : in_bytes.read({&c, 1})) {
            split.push_back(k);
        }
    }
    // An escape by itself is told at once, as nothing may follow.
    std::erase_if(split, [](const key& k) { return k.kind == key_kind::escape; });
    EXPECT_EQ(split, all);
    EXPECT_EQ(all[1].kind, key_kind::up);
    EXPECT_EQ(all[3].kind, key_kind::page_up);
    EXPECT_EQ(all[4], (key{key_kind::character, "ñ"}));
}

TEST(key_reader_test, any_bytes_become_keys) {
    key_reader reader;
    EXPECT_EQ(reader.read("\x1b").size(), 1u);
    EXPECT_EQ(reader.read("\xff\xfe\x80").size(), 3u);
    EXPECT_EQ(reader.read(std::string(100, '\x1b')).size(), 100u);
    reader.read("\x1b[" + std::string(100, '1'));
    EXPECT_EQ(reader.read("q").back(), (key{key_kind::character, "q"}));
}

TEST(text_width_test, counts_columns_and_keeps_characters_whole) {
    EXPECT_EQ(width_of("naïve"), 5u);
    EXPECT_EQ(width_of("日本"), 4u);
    EXPECT_EQ(width_of("e\u0301"), 1u);
    EXPECT_EQ(cut("日本語", 5), "日本~");
    EXPECT_EQ(cut("日本語", 6), "日本語");
    EXPECT_EQ(cut("日本語", 4), "日~");
    EXPECT_EQ(wrap("  holder      one two", 18, 4),
              (std::vector<std::string>{"  holder      one", "    two"}));
}

}  // namespace
