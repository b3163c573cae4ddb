// SPDX-License-Identifier: BSL-1.0
// Jobs that run once per period, in a cluster: their note is in the hash slot of their lock.
#include "deployment/cluster_migration.hpp"
#include "deployment/job_run.hpp"

#include <conch/once.hpp>

#include <stdexcept>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(cluster_migration, slow_a_job_runs_once_on_each_master) {
    run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            const std::string name = group.name_in(i, "job");
            job_run first{a, name};
            co_await first.works();
            job_run second{b, name};
            first.end();
            co_await first.ended(true);
            co_await second.ended(false);
            EXPECT_TRUE(group.raw(i).exists("conch_done:{" + name + "}")) << name;
        }
    });
}

TEST_F(cluster_migration, slow_a_job_is_noted_once_its_lock_and_its_note_are_together_again) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("job");
        const std::string note = "conch_done:" + name;
        for (const bool lock_first : {false, true}) {
            group.raw(from).must({"SET", note, "1"});  // of long ago
            const client c{io, group.settings("c")};
            job_run first{c, name};
            co_await first.works();
            begin();
            move(lock_first ? name : note);
            first.end();
            const bool refused =
                co_await when([&] { return c.last_server_error().starts_with("TRYAGAIN"); });
            EXPECT_TRUE(refused) << c.last_server_error();
            job_run second{b, name};
            end();
            co_await first.ended(true);
            co_await second.ended(false);
            EXPECT_NE(group.raw(to).get(note), "1");
            EXPECT_FALSE(group.raw(to).exists(name));
            co_await group.settle();  // before 7.0 a next move may leave it to nobody
            group.migrate(slot, from);
            co_await group.settle();
        }
    });
}

TEST_F(cluster_migration, slow_a_job_whose_name_has_a_lone_brace_is_refused_at_once) {
    for (const char* name : {"{}x", "a{b", "a}b"}) {
        EXPECT_THROW((once{a, name, job_run::yearly}), std::invalid_argument) << name;
    }
}

}  // namespace
