// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_DEADLOCK_FIXTURE_HPP
#define CONCH_TEST_UNIT_ENGINE_DEADLOCK_FIXTURE_HPP

#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::test {

using namespace std::chrono_literals;

/// Any number of clients at one server, which knows mutexes and read-write locks, and keeps what is
/// written beside them. All on one clock.
class deadlock_world : public ::testing::Test {
protected:
    struct client {
        client(config c, std::string_view id) : h{std::move(c), 1, 0, id} {}
        engine_harness h;
        bool connected = false;
        std::set<std::string> channels{};
        std::vector<std::string> sent{};  ///< about deadlocks: records, and looks
    };

    static config looking(std::string_view name = "") {
        config c = quiet();
        c.deadlock_detection = true;
        c.client_name = name;
        return c;
    }
    /// Its log is `said`.
    client& join(std::string_view id, config c) {
        c.least_log_level = log_level::warning;
        c.log = [this](log_level, std::string_view line) { said.emplace_back(line); };
        client& made = clients.emplace_back(std::move(c), id);
        made.h.skip(passed);
        return made;
    }
    client& join(std::string_view id) { return join(id, looking()); }

    /// Answers until nobody says anything more.
    void serve() {
        for (bool busy = true; busy;) {
            busy = false;
            for (client& c : clients) {
                for (const command& said_ : c.h.sent_commands()) {
                    busy = true;
                    answer(c, said_);
                }
            }
        }
    }
    /// So much time passes for all.
    void pass(duration d) {
        for (duration gone{}; gone < d; gone += 10ms) {
            passed += 10ms;
            for (client& c : clients) {
                c.h.advance(10ms);
            }
            serve();
        }
    }
    /// The same, until this holds; false if it never does.
    template <typename Condition>
    bool comes(Condition is, duration within) {
        for (duration gone{}; gone < within && !is(); gone += 10ms) {
            pass(10ms);
        }
        return is();
    }
    operation& lock(client& c, std::string_view name, const owner& by, duration wait = forever) {
        return lock(c, name, lock_options{.wait = wait, .owner = &by});
    }
    operation& lock(client& c, std::string_view name, const lock_options& how) {
        operation& op = c.h.lock(name, how);
        if (!std::exchange(c.connected, true)) {
            c.h.connect();
        }
        serve();
        return op;
    }
    impl::view_ptr hold(client& c, std::string_view name, const owner& by) {
        return hold(c, name, {.owner = &by});
    }
    impl::view_ptr hold(client& c, std::string_view name, const lock_options& how) {
        operation& op = lock(c, name, how);
        EXPECT_TRUE(op.granted()) << name;
        return op.view;
    }
    void unlock(client& c, const impl::view_ptr& view) {
        c.h.unlock(view);
        serve();
    }
    void read(client& c, std::string_view name) { c.h.use(protocol::shared_read_protocol, name); }
    void write(client& c, std::string_view name) { c.h.use(protocol::shared_write_protocol, name); }

    std::map<std::string, std::vector<std::string>> holders{};  ///< of a lock: their fields
    std::map<std::string, std::string> records{};
    std::string refusal{};         ///< of each record
    std::string read_refusal{};    ///< of each question for one
    bool writer_in_front = false;  ///< so that no reader gets in
    bool lacks_scripts = false;    ///< those that tell who holds a lock
    std::function<void()> before_look{};
    std::vector<std::string> said{};
    std::deque<client> clients{};

    void answer(client& c, const command& said_) {
        const bool by_text = said_.name.starts_with("EVAL ");
        const std::string n = by_text ? said_.name.substr(5) : said_.name;
        const auto lock = said_.keys.empty() ? std::string{} : said_.keys[0];
        if ((n == "status" || n == "shared_status") && lacks_scripts && !by_text) {
            c.h.reply(error("NOSCRIPT No matching script. Please use EVAL."));
            return;
        }
        if (n == "acquire" || n == "shared_write" || n == "shared_read") {
            c.h.reply(acquire(lock, said_.args[0], n == "shared_read"));
        } else if (n == "release" || n == "shared_release") {
            release(lock, n == "release" ? said_.args[0] : said_.args[2]);
            c.h.reply(integer(0));
        } else if (n == "status" || n == "shared_status") {
            c.sent.push_back(said_.text());
            if (before_look) {
                before_look();
            }
            c.h.reply(status(lock));
        } else if (n == "renew" || n == "shared_renew") {
            c.h.reply(array(integer(1)));
        } else if (n == "shared_downgrade") {
            holders[lock] = {said_.args[1] + ":read"};
            c.h.reply(integer(1));
        } else if (n == "nest") {
            c.h.reply(integer(1));
        } else {
            plain(c, said_);
        }
    }

private:
    duration passed{};

    static bool writes(std::string_view field) { return !field.ends_with(":read"); }

    void plain(client& c, const command& said_) {
        const std::string& n = said_.name;
        const std::string key = said_.args.empty() ? std::string{} : said_.args[0];
        if (n == "SET" || n == "DEL" || n == "GETRANGE") {
            c.sent.push_back(said_.text());
        }
        if (n == "SET" && !refusal.empty()) {
            c.h.reply(error(refusal));
        } else if (n == "SET") {
            records[key] = said_.args[1];
            c.h.reply(ok());
        } else if (n == "DEL") {
            c.h.reply(integer(static_cast<std::int64_t>(records.erase(key))));
        } else if (n == "GETRANGE" && !read_refusal.empty()) {
            c.h.reply(error(read_refusal));
        } else if (n == "GETRANGE") {
            const auto found = records.find(key);
            EXPECT_EQ(said_.args[1], "0");
            c.h.reply(bulk(found == records.end()
                               ? ""
                               : found->second.substr(0, std::stoul(said_.args[2]) + 1)));
        } else if (n == "CLIENT") {
            c.h.reply(integer(1));
        } else if (n == "SUBSCRIBE") {
            c.channels.insert(key);
            c.h.reply(push("subscribe", key, integer(1)));
        } else if (n == "UNSUBSCRIBE") {
            c.channels.erase(key);
            c.h.reply(push("unsubscribe", key, integer(0)));
        } else {
            ADD_FAILURE() << "unexpected: " << said_.text();
        }
    }
    std::string acquire(const std::string& lock, const std::string& field, bool reads) {
        std::vector<std::string>& all = holders[lock];
        const bool is_read = !all.empty() && !writes(all[0]);
        if ((all.empty() || (reads && is_read)) && !(reads && writer_in_front)) {
            all.push_back(reads ? field + ":read" : field);
            return bulk("");
        }
        return busy(20'000);
    }
    void release(const std::string& lock, const std::string& field) {
        std::erase_if(holders[lock], [&](const std::string& held) {
            return held == field || held == field + ":read";
        });
        for (client& c : clients) {
            for (const std::string& channel : c.channels) {
                if (channel.find("{" + lock + "}") != channel.npos) {
                    c.h.reply(push("message", channel, bulk("0")));
                }
            }
        }
    }
    std::string status(const std::string& lock) {
        const std::vector<std::string>& all = holders[lock];
        if (all.empty()) {
            return array(integer(-2), bulk(""));
        }
        std::string fields;
        for (const std::string& one : all) {
            fields += (fields.empty() ? "" : " ") + one.substr(0, one.find(":read"));
        }
        return array(integer(20'000), bulk(""), bulk(fields), bulk(std::to_string(all.size())),
                     bulk(writes(all[0]) ? "write" : "read"));
    }
};

/// The first client's owner waits for what the second one's holds.
class deadlock_pair : public deadlock_world {
protected:
    void SetUp() override {
        a = hold(one, "a", first);
        b = hold(two, "b", second);
        older = &lock(one, "b", first);
        pass(700ms);
    }
    /// What somebody else would write for the holder of "b".
    static std::string record(int epoch, int refresh, int wait, std::string_view wanted = "a") {
        return test::join("1 ", epoch, " ", refresh, " conch:db-1:9:x mutex ", wait, " 5 ",
                          wanted.size(), " ", wanted);
    }

    /// Of what the first client tells, with the version.
    std::string epoch() const {
        const std::string& text = records.at("conch_wait:{a}:c1:1");
        return text.substr(0, text.find(' ', 2));
    }
    int refresh() const {
        return std::stoi(records.at("conch_wait:{a}:c1:1").substr(epoch().size()));
    }

    client& one = join("c1", looking("conch:web-1:7:c1"));
    client& two = join("c2", looking("conch:web-2:8:c2"));
    owner first{}, second{}, third{};
    impl::view_ptr a{}, b{};
    operation* older = nullptr;
};

}  // namespace conch::test

#endif
