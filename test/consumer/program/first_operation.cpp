// SPDX-License-Identifier: BSL-1.0
// The least that starts an operation.
#include <conch/conch.hpp>

#include <boost/asio/io_context.hpp>

int main() {
    boost::asio::io_context io;
    conch::client redis{io};
    redis.async_shutdown([](conch::error_code) {});
    io.run();
}
