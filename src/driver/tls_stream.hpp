// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_TLS_STREAM_HPP
#define CONCH_SRC_DRIVER_TLS_STREAM_HPP

#include "driver/stream.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>

#include <array>
#include <string>

namespace conch::impl {

/// A stream that is encrypted. An operation of Asio's TLS stream is several of the socket, each
/// ended by a handler of its own, and all of them share one state: they run on a strand that this
/// stream has for them, and so does whatever touches the socket once it is connected. The strand
/// only asks for them, and hears of their end.
class tls_stream final : public stream {
public:
    /// Throws `std::bad_alloc` if OpenSSL has no memory for it.
    tls_stream(client_core& home, std::size_t place, std::uint64_t number, const std::string& host,
               boost::asio::ssl::context& context);

    void read() override;
    void write() override;
    void close() noexcept override;

private:
    static void shaken(event& e);

    void opened() override;
    void have_read(error_code ec, std::size_t n) override;
    void have_written(error_code ec, std::size_t n) override;
    void name_server();
    void fail(error_code ec);
    template <typename Function>
    void on_strand(Function f);
    template <typename Function>
    auto then(Function f);
    void say_goodbye();

    boost::asio::strand<boost::asio::any_io_executor> strand_;
    boost::asio::ssl::stream<decltype(socket_)&> ssl_;
    const std::string name_;                  // of the server
    std::array<char, 16u << 10> received_{};  // the strand's, from read() to its end
    long verdict_ = 0;  // on the server's certificate; the strand's, until the handshake's end

    // The strand's alone.
    bool closed_ = false;
    bool usable_ = false;  // the handshake is done, and nothing has failed since
    bool sending_now_ = false;
};

}  // namespace conch::impl

#endif
