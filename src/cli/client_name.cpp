// SPDX-License-Identifier: BSL-1.0
#include "cli/client_name.hpp"

#include <limits.h>
#include <unistd.h>

namespace conch::cli {

std::string client_name(std::string_view host, pid_t process) {
    std::string out = "conch:";
    for (const char c : host) {
        out += c > ' ' && c < '\x7f' ? c : '-';
    }
    return out + ':' + std::to_string(process);
}

std::string own_client_name() {
    char host[HOST_NAME_MAX + 1] = "";
    if (::gethostname(host, sizeof host - 1) != 0) {
        host[0] = '\0';
    }
    return client_name(host, ::getpid());
}

}  // namespace conch::cli
