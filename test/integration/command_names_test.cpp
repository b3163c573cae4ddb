// SPDX-License-Identifier: BSL-1.0
// conch with a host whose name server does not answer.
#include "integration/quorum_fixture.hpp"
#include "support/command_fixture.hpp"

#include <csignal>
#include <filesystem>
#include <iterator>

namespace {

using namespace conch;
using namespace conch::test;

const std::string silent_url = "redis://any.silent.test";

class command_names_test : public command_fixture {
protected:
    static program::environment with_name_server() {
        return {{"LD_PRELOAD", NAME_SERVER_LIBRARY},
                {"ASAN_OPTIONS", "verify_asan_link_order=0"},
                {"CONCH_REDIS", ""}};
    }
    static words run_with(const words& options, const std::string& command = "true") {
        words all = conch({"run"});
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"lock", "--", command});
        return all;
    }
};

TEST_F(command_names_test, a_name_without_answer_is_a_minority) {
    const quorum_server other;
    program p{run_with({"--redis", silent_url, "--redis", url(), "--redis", other.url()}),
              with_name_server()};
    const ended e = p.finish();
    EXPECT_EQ(e.status, 0) << e.err;
}

TEST_F(command_names_test, the_time_to_connect_is_a_limit) {
    program p{run_with({"--connect-timeout", "1", "--redis", silent_url}), with_name_server()};
    const ended e = p.finish();
    EXPECT_EQ(e.status, 69);
    expect_in("any.silent.test", e.err);
}

TEST_F(command_names_test, a_signal_ends_the_wait) {
    program p{run_with({"--connect-timeout", "60", "--redis", silent_url}), with_name_server()};
    const std::filesystem::path threads = "/proc/" + std::to_string(p.pid()) + "/task";
    const auto looks_for_it = [&] {
        return std::distance(std::filesystem::directory_iterator{threads}, {}) > 1;
    };
    EXPECT_TRUE(run_until(io, looks_for_it));
    p.signal(SIGINT);
    EXPECT_EQ(p.finish().status, 128 + SIGINT);
}

}  // namespace
