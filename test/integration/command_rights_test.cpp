// SPDX-License-Identifier: BSL-1.0
// The commands with the least rights that the page on security tells, for the keys of the locks
// alone.
#include "support/command_fixture.hpp"

#include <set>

namespace {

using namespace conch;
using namespace conch::test;

class rights_command_test : public command_fixture {
protected:
    rights_command_test() {
        may_refuse = true;
        give({});
    }
    /// The page's rights, but of keys those of these names and `others`.
    void give(const words& others) {
        words line{"ACL", "SETUSER"};
        words user = words_of_user(conch_rights());
        std::replace(user.begin(), user.end(), std::string{"~*"}, std::string{"~orders:*"});
        user.insert(user.begin() + 1, "reset");
        line.insert(line.end(), user.begin(), user.end());
        line.insert(line.end(), others.begin(), others.end());
        raw.must(line);
    }
    std::set<std::string> refused() {
        const words all = raw.refused();
        raw.must({"ACL", "LOG", "RESET"});
        return {all.begin(), all.end()};
    }
};

TEST_F(rights_command_test, status_watch_and_release_need_no_right_to_the_key_of_the_fence) {
    for (const bool plain : {false, true}) {
        SCOPED_TRACE(plain);
        const words kind = plain ? words{"--plain"} : words{};
        const auto with = [&](words all) {
            all.insert(all.end(), kind.begin(), kind.end());
            all.emplace_back("orders:7");
            return to_end(all);
        };
        if (plain) {
            raw.must({"SET", "orders:7", owner_of_redisson, "PX", "60000"});
        } else {
            take_as_stranger(raw, "orders:7");
        }
        const ended status = with({"status"});
        EXPECT_EQ(status.status, 0) << status.err;
        expect_in(owner_of_redisson, status.out);
        EXPECT_EQ(status.err, "");
        expect_in("  waiting unknown: the server refused to tell\n", status.out);
        const ended watch = with({"watch", "--count", "1"});
        EXPECT_EQ(watch.status, 0) << watch.err;
        expect_in(owner_of_redisson, watch.out);
        const ended release = with({"release", "--force"});
        EXPECT_EQ(release.status, 0) << release.err;
        EXPECT_FALSE(raw.exists("orders:7"));
    }
}

TEST_F(rights_command_test, status_asks_for_no_other_keys_than_the_page_says) {
    words others = status_rights();
    give(others);
    take_as_stranger(raw, "orders:7");
    raw.must({"RPUSH", "redisson_lock_queue:{orders:7}", owner_of_redisson});
    refused();
    const ended less = to_end({"status", "orders:7"});
    expect_in("orders:7: mutex, locked\n", less.out);
    EXPECT_EQ(less.err, "");
    EXPECT_EQ(refused(), (std::set<std::string>{"redisson_lock_token:{orders:7}",
                                                "redisson_lock_queue:{orders:7}"}));
    others.insert(others.end(),
                  {"~redisson_lock_token:{orders:*", "~redisson_lock_queue:{orders:*"});
    give(others);
    expect_in("orders:7: fair mutex, locked\n", to_end({"status", "orders:7"}).out);
    EXPECT_EQ(refused(), std::set<std::string>{});
    others.emplace_back("-llen");
    give(others);
    expect_in("orders:7: mutex, locked\n", to_end({"status", "orders:7"}).out);
    EXPECT_EQ(refused(), std::set<std::string>{"llen"});
}

TEST_F(rights_command_test, run_needs_none_either) {
    for (const words& kind : {words{}, words{"--plain"}}) {
        words all{"run"};
        all.insert(all.end(), kind.begin(), kind.end());
        all.insert(all.end(), {"orders:7", "--", "true"});
        const ended end = to_end(all);
        EXPECT_EQ(end.status, 0) << end.err;
    }
}

TEST_F(rights_command_test, other_keys_are_refused) {
    EXPECT_EQ(to_end({"status", "customers:7"}).status, 69);
    EXPECT_EQ(to_end({"release", "--force", "customers:7"}).status, 69);
}

}  // namespace
