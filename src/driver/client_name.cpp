// SPDX-License-Identifier: BSL-1.0
#include "driver/client_name.hpp"

#include <limits.h>
#include <unistd.h>

#include <cstddef>

namespace conch::impl {

std::string client_name(std::string_view given, std::string_view service, std::string_view host,
                        pid_t process, std::string_view id) {
    constexpr std::size_t enough_to_know_it = 8;
    if (given.empty()) {
        return {};
    }
    std::string out{given};
    if (!service.empty()) {
        out.append(":").append(service);
    }
    out += ':';
    for (const char c : host) {
        out += c > ' ' && c < '\x7f' ? c : '-';
    }
    out += ':' + std::to_string(process) + ':';
    out += id.substr(0, enough_to_know_it);
    return out;
}

std::string own_client_name(std::string_view given, std::string_view service, std::string_view id) {
    char host[HOST_NAME_MAX + 1] = "";
    if (::gethostname(host, sizeof host - 1) != 0) {
        host[0] = '\0';
    }
    return client_name(given, service, host, ::getpid(), id);
}

}  // namespace conch::impl
