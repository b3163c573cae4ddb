// SPDX-License-Identifier: BSL-1.0
#include "soak/client_process.hpp"

#include <signal.h>

#include <exception>

namespace conch::soak {
namespace {

std::string complaint(const char* what, const test::ended& end) {
    return std::string{"a client process "} + what + ", status " + std::to_string(end.status) +
           ", signal " + std::to_string(end.signal) + ": " + end.err;
}

}  // namespace

// A process that has ended stays until it is waited for, and takes a signal without a change of
// how it ended.
std::string kill(test::program& client) {
    client.signal(SIGKILL);
    try {
        const test::ended& end = client.finish();
        if (end.signal != SIGKILL) {
            return complaint("had ended by itself", end);
        }
        return end.err.empty() ? "" : complaint("complained before it was killed", end);
    } catch (const std::exception& e) {
        return e.what();
    }
}

std::string finish(test::program& client, std::chrono::milliseconds limit) {
    client.end_input();
    try {
        const test::ended& end = client.finish(limit);
        return end.status == 0 && end.err.empty() ? "" : complaint("failed", end);
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace conch::soak
