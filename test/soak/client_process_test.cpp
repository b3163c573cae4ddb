// SPDX-License-Identifier: BSL-1.0
// A client process that died, or complained, is noticed whatever is done to it then.
#include "soak/client_process.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace {

using namespace conch;
using namespace std::chrono_literals;

test::program shell(const std::string& script) { return test::program{{"/bin/sh", "-c", script}}; }

TEST(soak_client_process, one_that_worked_until_it_was_killed_is_fine) {
    test::program client = shell("echo in; exec cat");
    client.wait_for("in\n");
    EXPECT_EQ(soak::kill(client), "");
}

TEST(soak_client_process, one_that_aborted_before_it_was_killed_is_found) {
    test::program client = shell("kill -ABRT $$");
    client.wait_for_exit();
    EXPECT_NE(soak::kill(client).find("had ended by itself, status -1, signal 6"),
              std::string::npos);
}

TEST(soak_client_process, one_that_ended_before_it_was_killed_is_found) {
    for (const char* status : {"0", "1"}) {
        test::program client = shell(std::string{"exit "} + status);
        client.wait_for_exit();
        EXPECT_NE(soak::kill(client).find(std::string{"had ended by itself, status "} + status),
                  std::string::npos);
    }
}

TEST(soak_client_process, one_that_was_killed_while_it_complained_is_found) {
    test::program client = shell("echo AddressSanitizer >&2; exec cat");
    client.wait_for_error("Sanitizer\n");
    EXPECT_NE(soak::kill(client).find("AddressSanitizer"), std::string::npos);
}

TEST(soak_client_process, one_that_ends_its_work_with_its_input_is_fine) {
    test::program client = shell("exec cat");
    EXPECT_EQ(soak::finish(client, 20s), "");
}

TEST(soak_client_process, one_that_fails_at_its_end_is_found) {
    test::program client = shell("cat; exit 3");
    EXPECT_NE(soak::finish(client, 20s).find("failed, status 3"), std::string::npos);
}

TEST(soak_client_process, one_that_complains_and_goes_on_is_found) {
    test::program client = shell("echo runtime error >&2; exec cat");
    EXPECT_NE(soak::finish(client, 20s).find("runtime error"), std::string::npos);
}

TEST(soak_client_process, one_that_does_not_end_is_found) {
    test::program client = shell("exec tail -f /dev/null");
    EXPECT_NE(soak::finish(client, 10ms).find("the time is up"), std::string::npos);
}

}  // namespace
