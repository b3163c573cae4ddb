// SPDX-License-Identifier: BSL-1.0
// Must not compile: this handler forgets the error.
#include <conch/mutex.hpp>

void take(conch::mutex& m) {
    m.async_lock({.wait = std::chrono::seconds{1}}, [](conch::hold) {});
}
