// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_CLIENT_LIST_HPP
#define CONCH_SRC_HOLD_CLIENT_LIST_HPP

#include <conch/lock_status.hpp>

#include <string_view>

namespace conch::lock {

/// Looks for `s.holder` in the answer to CLIENT LIST, one line for each connection, and writes to
/// `s` where that client is. The name of a conch client's connection ends in
/// ":HOST:PID:BEGINNING-OF-ITS-ID", as `impl::client_name` makes it.
void locate_holder(lock_status& s, std::string_view client_list);

}  // namespace conch::lock

#endif
