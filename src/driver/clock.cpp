// SPDX-License-Identifier: BSL-1.0
#include <conch/clock.hpp>

#include <time.h>

namespace conch {

clock::time_point clock::now() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
}

}  // namespace conch
