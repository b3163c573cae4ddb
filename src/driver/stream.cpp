// SPDX-License-Identifier: BSL-1.0
#include "driver/stream.hpp"

#include "driver/client_core.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>

#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

constexpr std::size_t read_size = 16u << 10;

}  // namespace

stream::stream(client_core& home, std::uint64_t number)
    : home_{home}, number_{number}, socket_{home_.strand()}, resolver_{home_.strand()} {}

void stream::connect(const config& settings) {
    error_code bad;
    if (!settings.unix_path.empty()) {
        tcp_ = false;
        addresses_.emplace_back(asio::local::stream_protocol::endpoint{settings.unix_path});
    } else if (const auto address = asio::ip::make_address(settings.host, bad); !bad) {
        addresses_.emplace_back(asio::ip::tcp::endpoint{address, settings.port});
    } else {
        resolve(settings);
        return;
    }
    connect_next({});
}

void stream::resolve(const config& settings) {
    resolver_.async_resolve(settings.host, std::to_string(settings.port),
                            asio::ip::tcp::resolver::numeric_service,
                            [self = shared_from_this(), home = home_.shared_from_this()](
                                error_code ec, const auto& results) {
                                if (ec) {
                                    home->on_broken(*self, ec);
                                    return;
                                }
                                for (const auto& r : results) {
                                    self->addresses_.emplace_back(r.endpoint());
                                }
                                self->connect_next(asio::error::host_not_found);
                            });
}

void stream::connect_next(error_code last) {
    if (next_address_ == addresses_.size()) {
        home_.on_broken(*this, last);
        return;
    }
    const protocol::endpoint& to = addresses_[next_address_++];
    error_code ignored;
    socket_.close(ignored);
    error_code bad;
    socket_.open(to.protocol(), bad);
    if (!bad) {
        // A child of the program must not inherit an authenticated connection.
        ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
    }
    socket_.async_connect(
        to, [self = shared_from_this(), home = home_.shared_from_this()](error_code ec) {
            if (ec == asio::error::operation_aborted) {
                return;
            }
            if (ec) {
                self->connect_next(ec);
                return;
            }
            if (self->tcp_) {
                error_code not_vital;
                self->socket_.set_option(asio::ip::tcp::no_delay{true}, not_vital);
                self->socket_.set_option(asio::socket_base::keep_alive{home->settings().keep_alive},
                                         not_vital);
            }
            home->on_connected(*self);
        });
}

void stream::read() {
    const auto space = home_.input_space(read_size);
    socket_.async_read_some(
        asio::buffer(space.data(), space.size()),
        [self = shared_from_this(), home = home_.shared_from_this()](error_code ec, std::size_t n) {
            if (ec) {
                home->on_broken(*self, ec);
            } else {
                home->on_read(*self, n);
            }
        });
}

void stream::write() {
    writing_ = true;
    asio::async_write(
        socket_, asio::buffer(output_),
        [self = shared_from_this(), home = home_.shared_from_this()](error_code ec, std::size_t) {
            self->writing_ = false;
            self->output_.clear();
            if (ec) {
                home->on_broken(*self, ec);
            } else {
                home->on_written(*self);
            }
        });
}

void stream::close() noexcept {
    error_code ignored;
    resolver_.cancel();
    socket_.close(ignored);
}

}  // namespace conch::impl
