// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_STREAM_HPP
#define CONCH_SRC_DRIVER_STREAM_HPP

#include "driver/handler_memory.hpp"
#include "driver/name_lookup.hpp"
#include "driver/strand_queue.hpp"
#include "wire/address.hpp"

#include <conch/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace conch::impl {

class client_core;

using socket_protocol = boost::asio::generic::stream_protocol;

/// One connection, or the attempt to make one: a socket and what is being written to it. All its
/// handlers share it with the client, which ignores what comes from a stream that it left. They
/// only note what happened; the rest is done on the client's strand. This one sends and receives
/// what it is given as it is; those that derive from it encrypt it.
class stream : public std::enable_shared_from_this<stream> {
public:
    /// `place`: whose connection it is, of those of the client.
    stream(client_core& home, std::size_t place, std::uint64_t number);
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    virtual ~stream() = default;

    std::size_t place() const noexcept { return place_; }
    std::uint64_t number() const noexcept { return number_; }
    /// Resolves the host and tries its addresses in turn; `failed` attempts did before.
    void connect(const wire::address& to, std::size_t failed);
    virtual void read();
    bool writing() const noexcept { return writing_; }
    std::string& output() noexcept { return output_; }
    /// Writes `output()`, at once if it can.
    virtual void write();
    virtual void close() noexcept;
    /// Closes where no handler runs any more: the execution context is being destroyed.
    void drop() noexcept;

protected:
    /// The end of one asynchronous operation of the socket, or of a search for addresses: there is
    /// one of each kind at a time.
    struct ending : event {
        using event::event;
        std::shared_ptr<stream> of{};  ///< while it waits
        error_code ec{};
        std::size_t size = 0;
    };
    template <void (stream::*Then)(error_code, std::size_t)>
    static void pass_on(event& e);
    /// Passes the ending of this stream to the strand. The caller keeps the client alive.
    void end(ending& e, std::shared_ptr<stream> self, error_code ec, std::size_t n = 0);

    /// The socket is connected; then the stream is, or something is to be done before that.
    virtual void opened();
    void wake_early();
    virtual void have_read(error_code ec, std::size_t n);
    virtual void have_written(error_code ec, std::size_t n);
    void stop_connecting() noexcept;

    client_core& home_;  // kept by each pending handler
    boost::asio::basic_stream_socket<socket_protocol, boost::asio::any_io_executor> socket_;
    bool left_ = false;
    bool writing_ = false;
    bool heard_ = false;  // anything from the server
    bool reads_ = false;
    std::string output_{};
    ending opening_;  // resolving, then connecting
    ending reading_;
    ending sending_;

private:
    /// A handler: passes the ending to the strand.
    auto note(ending& e, handler_memory& memory);

    void resolve(const wire::address& to, std::size_t failed);
    void take_addresses(const name_lookup& of, std::uint16_t port, std::size_t failed);
    void connect_next(error_code last);
    void write_rest();
    void resolved(error_code ec, std::size_t);
    void connected(error_code ec, std::size_t);
    bool is_tls(std::size_t n);

    const std::size_t place_;
    std::uint64_t number_;
    name_lookup::signal resolved_;
    std::vector<socket_protocol::endpoint> addresses_{};
    std::size_t next_address_ = 0;
    bool tcp_ = true;
    const char* input_ = nullptr;  // where what is read goes
    std::size_t written_ = 0;      // of the output
    handler_memory read_memory_{};
    handler_memory write_memory_{};
};

}  // namespace conch::impl

#endif
