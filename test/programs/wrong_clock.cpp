// SPDX-License-Identifier: BSL-1.0
// Loaded before the C library into a process, and into what it starts: their wall clock is ahead by
// $WRONG_CLOCK seconds.
#include <dlfcn.h>

#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t id, timespec* time) noexcept {
    using function = int (*)(clockid_t, timespec*);
    static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "clock_gettime"));
    static const char* const ahead = std::getenv("WRONG_CLOCK");
    const int result = real(id, time);
    if (result == 0 && id == CLOCK_REALTIME && ahead != nullptr) {
        time->tv_sec += std::strtol(ahead, nullptr, 10);
    }
    return result;
}
