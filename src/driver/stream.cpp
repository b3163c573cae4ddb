// SPDX-License-Identifier: BSL-1.0
#include "driver/stream.hpp"

#include "driver/address_turns.hpp"
#include "driver/client_core.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>

#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

constexpr std::size_t read_size = 16u << 10;

}  // namespace

template <void (stream::*Then)(error_code, std::size_t)>
void stream::pass_on(event& e) {
    auto& ended = static_cast<ending&>(e);
    const std::shared_ptr<stream> self = std::move(ended.of);
    (self.get()->*Then)(ended.ec, ended.size);
}

void stream::end(ending& e, std::shared_ptr<stream> self, error_code ec, std::size_t n) {
    if (home_.inherited()) {
        return;  // it would be kept for ever
    }
    e.of = std::move(self);
    e.ec = ec;
    e.size = n;
    home_.pass(e);
}

auto stream::note(ending& e, handler_memory& memory) {
    return asio::bind_allocator(
        handler_memory::allocator<>{memory},
        [&e, self = shared_from_this(), home = home_.shared_from_this()](
            error_code ec, std::size_t n = 0) { self->end(e, self, ec, n); });
}

stream::stream(client_core& home, std::size_t place, std::uint64_t number)
    : home_{home},
      socket_{home_.io_executor()},
      opening_{&pass_on<&stream::connected>},
      reading_{&pass_on<&stream::have_read>},
      sending_{&pass_on<&stream::have_written>},
      place_{place},
      number_{number},
      resolved_{home_.io_executor()} {}

void stream::connect(const wire::address& to, std::size_t failed) {
    error_code bad;
    if (!to.unix_path.empty()) {
        tcp_ = false;
        addresses_.emplace_back(asio::local::stream_protocol::endpoint{to.unix_path});
    } else if (const auto address = asio::ip::make_address(to.host, bad); !bad) {
        addresses_.emplace_back(asio::ip::tcp::endpoint{address, to.port});
    } else {
        resolve(to, failed);
        return;
    }
    connect_next({});
}

void stream::resolve(const wire::address& to, std::size_t failed) {
    opening_.run = &pass_on<&stream::resolved>;
    const auto tell = [self = shared_from_this(), home = home_.shared_from_this()](error_code ec) {
        self->end(self->opening_, self, ec);
    };
    try {
        const auto lookup = home_.look_up(to.host);
        lookup->assign_to(resolved_);
        resolved_.async_wait(resolved_.wait_read, [=, this, port = to.port](error_code ec) {
            const error_code why = ec ? ec : lookup->error();
            if (!why) {
                take_addresses(*lookup, port, failed);
            }
            tell(why);
        });
    } catch (const system_error& e) {  // no thread, or no descriptor
        asio::post(home_.io_executor(), [tell, ec = e.code()] { tell(ec); });
    }
}

// Nobody else looks at the addresses before the strand is told.
void stream::take_addresses(const name_lookup& of, std::uint16_t port, std::size_t failed) {
    for (const asio::ip::address& found : of.addresses()) {
        addresses_.emplace_back(asio::ip::tcp::endpoint{found, port});
    }
    address_turns::arrange(addresses_, failed);
}

void stream::resolved(error_code ec, std::size_t) {
    if (ec) {
        home_.on_broken(*this, ec);
        return;
    }
    opening_.run = &pass_on<&stream::connected>;
    error_code ignored;
    resolved_.close(ignored);
    connect_next(asio::error::host_not_found);
}

void stream::connect_next(error_code last) {
    if (left_) {
        return;
    }
    if (next_address_ == addresses_.size()) {
        home_.on_broken(*this, last);
        return;
    }
    const socket_protocol::endpoint& to = addresses_[next_address_++];
    error_code ignored;
    socket_.close(ignored);
    error_code bad;
    socket_.open(to.protocol(), bad);
    if (!bad) {
        // A child of the program must not inherit an authenticated connection.
        ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
    }
    socket_.async_connect(to, note(opening_, read_memory_));
}

void stream::connected(error_code ec, std::size_t) {
    if (left_ || ec == asio::error::operation_aborted) {
        return;
    }
    if (ec) {
        connect_next(ec);
        return;
    }
    error_code not_vital;
    if (tcp_) {
        socket_.set_option(asio::ip::tcp::no_delay{true}, not_vital);
        socket_.set_option(asio::socket_base::keep_alive{home_.settings().keep_alive}, not_vital);
    }
    opened();
}

void stream::opened() {
    error_code not_vital;
    socket_.non_blocking(true, not_vital);
    if (!tcp_) {
        wake_early();
    }
    home_.on_connected(*this);
}

// A unix socket tells those who once asked for room that the other end has read what was written:
// while the server works on it, a CPU that sleeps wakes up for the answer. Alone on a machine, one
// coroutine waits for two thirds as long; where both share one CPU, it costs a fourth more.
void stream::wake_early() {
    socket_.async_wait(socket_.wait_write, [](error_code) {});
}

void stream::read() {
    reads_ = true;
    const auto space = home_.input_space(*this, read_size);
    input_ = space.data();
    socket_.async_read_some(asio::buffer(space.data(), space.size()), note(reading_, read_memory_));
}

// The first byte of a TLS alert, which is all that a server says who wants TLS, begins no RESP.
bool stream::is_tls(std::size_t n) {
    constexpr char alert = 21;
    return !std::exchange(heard_, true) && n > 0 && *input_ == alert;
}

void stream::have_read(error_code ec, std::size_t n) {
    reads_ = false;
    if (ec && heard_) {
        home_.on_broken(*this, ec);
    } else if (ec) {
        home_.on_broken(*this, ec,
                        ec.message() + ", before any answer (does it want TLS there, or does a "
                                       "proxy not know HELLO?)");
    } else if (!left_ && is_tls(n)) {
        home_.on_broken(*this, asio::error::no_protocol_option,
                        "the server wants TLS on this port (rediss://)", errc::tls_failed);
    } else {
        home_.on_read(*this, n);
    }
}

void stream::write() {
    error_code ec;
    const std::size_t n =
        socket_.non_blocking() ? socket_.write_some(asio::buffer(output_), ec) : 0;
    if (!ec && n == output_.size()) {
        output_.clear();
        return;
    }
    // An error comes back from the asynchronous write.
    written_ = ec ? 0 : n;
    writing_ = true;
    write_rest();
}

void stream::write_rest() {
    socket_.async_write_some(asio::buffer(output_) + written_, note(sending_, write_memory_));
}

// A server that refuses a client, as it has no room, says so and hangs up: what it said is there to
// be read, though nothing can be written any more.
void stream::have_written(error_code ec, std::size_t n) {
    if ((ec == asio::error::broken_pipe || ec == asio::error::connection_reset) && !heard_ &&
        reads_) {
        return;
    }
    written_ += n;
    if (!ec && written_ < output_.size()) {
        write_rest();
        return;
    }
    writing_ = false;
    output_.clear();
    if (ec) {
        home_.on_broken(*this, ec);
    } else {
        home_.on_written(*this);
    }
}

void stream::close() noexcept { drop(); }

void stream::drop() noexcept {
    stop_connecting();
    error_code ignored;
    socket_.close(ignored);
}

void stream::stop_connecting() noexcept {
    left_ = true;
    error_code ignored;
    resolved_.close(ignored);
}

}  // namespace conch::impl
