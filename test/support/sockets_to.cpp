// SPDX-License-Identifier: BSL-1.0
#include "support/sockets_to.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>

namespace conch::test {

std::vector<int> sockets_to(std::uint16_t port) {
    std::vector<int> out;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        const int fd = std::stoi(entry.path().filename());
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
            peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) {
            out.push_back(fd);
        }
    }
    return out;
}

}  // namespace conch::test
