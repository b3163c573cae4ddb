// SPDX-License-Identifier: BSL-1.0
// Without a token, what comes back is to be awaited: this unlocks nothing.
#include <conch/mutex.hpp>

void give_back(conch::hold& hold) { hold.async_unlock(); }
