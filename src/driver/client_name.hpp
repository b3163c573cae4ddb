// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_CLIENT_NAME_HPP
#define CONCH_SRC_DRIVER_CLIENT_NAME_HPP

#include <sys/types.h>

#include <string>
#include <string_view>

namespace conch::impl {

/// The name of a client's connections in CLIENT LIST, "GIVEN[:SERVICE]:HOST:PID:ID", with the
/// beginning of its id, as the field of each lock that it holds. Empty if none is given. What
/// CLIENT SETNAME refuses in a host's name becomes '-'.
std::string client_name(std::string_view given, std::string_view service, std::string_view host,
                        pid_t process, std::string_view id);

/// The same, of this process.
std::string own_client_name(std::string_view given, std::string_view service, std::string_view id);

}  // namespace conch::impl

#endif
