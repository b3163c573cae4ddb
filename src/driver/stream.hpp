// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_STREAM_HPP
#define CONCH_SRC_DRIVER_STREAM_HPP

#include <conch/config.hpp>
#include <conch/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace conch::impl {

class client_core;

using strand_type = boost::asio::strand<boost::asio::any_io_executor>;
using protocol = boost::asio::generic::stream_protocol;

/// One connection, or the attempt to make one: a socket and what is being written to it. All its
/// handlers share it with the client, which ignores what comes from a stream that it left.
class stream : public std::enable_shared_from_this<stream> {
public:
    stream(client_core& home, std::uint64_t number);

    std::uint64_t number() const noexcept { return number_; }
    /// Resolves the host and tries its addresses in turn.
    void connect(const config& settings);
    void read();
    bool writing() const noexcept { return writing_; }
    std::string& output() noexcept { return output_; }
    /// Writes `output()`.
    void write();
    void close() noexcept;

private:
    void resolve(const config& settings);
    void connect_next(error_code last);

    client_core& home_;  // kept by each pending handler
    std::uint64_t number_;
    boost::asio::basic_stream_socket<protocol, strand_type> socket_;
    boost::asio::ip::basic_resolver<boost::asio::ip::tcp, strand_type> resolver_;
    std::vector<protocol::endpoint> addresses_{};
    std::size_t next_address_ = 0;
    bool tcp_ = true;
    bool writing_ = false;
    std::string output_{};
};

}  // namespace conch::impl

#endif
