// SPDX-License-Identifier: BSL-1.0
#include "support/server_version.hpp"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>

namespace conch::test {
namespace {

// "Redis server v=7.0.15 sha=..."
std::pair<int, int> ask_version() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> answer{
        ::popen("redis-server --version", "re"), &::pclose};
    std::pair<int, int> out;
    if (!answer || std::fscanf(answer.get(), "%*[^=]=%d.%d", &out.first, &out.second) != 2) {
        throw std::runtime_error{"redis-server --version does not say which it is"};
    }
    return out;
}

}  // namespace

bool server_is_before(int major, int minor) {
    static const std::pair<int, int> version = ask_version();
    return version < std::pair{major, minor};
}

}  // namespace conch::test
