// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_CLIENT_NAME_HPP
#define CONCH_SRC_CLI_CLIENT_NAME_HPP

#include <sys/types.h>

#include <string>
#include <string_view>

namespace conch::cli {

/// The name of a process's connection in CLIENT LIST, "conch:HOST:PID". What CLIENT SETNAME refuses
/// in a host's name becomes '-'.
std::string client_name(std::string_view host, pid_t process);

/// The same, of this process.
std::string own_client_name();

}  // namespace conch::cli

#endif
