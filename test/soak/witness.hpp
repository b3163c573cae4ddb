// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_WITNESS_HPP
#define CONCH_TEST_SOAK_WITNESS_HPP

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <cstdint>
#include <string>

namespace conch::soak {

/// A worker's connection to the judge: one question at a time.
class witness {
public:
    struct answer {
        bool accepted = false;
        std::uint64_t value = 0;
    };

    witness(boost::asio::io_context& io, const std::string& path);

    /// Throws if the judge is gone.
    boost::asio::awaitable<answer> say(std::string line);

    boost::asio::awaitable<answer> enter(const std::string& worker, const std::string& name,
                                         const hold& h, duration lease, duration waited);
    boost::asio::awaitable<answer> write(const std::string& name, const hold& h, duration lease,
                                         std::uint64_t value);
    boost::asio::awaitable<answer> leave(const std::string& name, const hold& h);

private:
    boost::asio::local::stream_protocol::socket socket_;
    std::string in_{};
    std::string out_{};
};

}  // namespace conch::soak

#endif
