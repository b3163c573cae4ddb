// SPDX-License-Identifier: BSL-1.0
// A library without TLS refuses what wants it, whichever way it is said.
#include <conch/conch.hpp>

#include <boost/asio/io_context.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

namespace {

template <typename Function>
bool is_refused(Function f) {
    try {
        f();
    } catch (const std::invalid_argument& e) {
        std::cout << e.what() << '\n';
        return std::string{e.what()}.find("CONCH_TLS=OFF") != std::string::npos;
    }
    return false;
}

}  // namespace

int main() {
    boost::asio::io_context io;
    const bool of_url = is_refused([] { conch::config::from_url("rediss://localhost"); });
    const bool of_client = is_refused([&] {
        conch::config c;
        c.tls.emplace();
        const conch::client redis{io, c};
    });
    const conch::client plain{io, conch::config::from_url("redis://localhost")};
    return of_url && of_client ? 0 : 1;
}
