// SPDX-License-Identifier: BSL-1.0
#include "soak/witness.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace conch::soak {

namespace asio = boost::asio;

tenure::tenure(std::string name, hold h, duration lease)
    : name_{std::move(name)},
      hold_{std::move(h)},
      lease_{lease},
      told_{std::make_shared<std::optional<time_point>>()} {
    hold_.async_wait_lost([told = told_](error_code why) {
        if (why) {
            *told = clock::now();
        }
    });
}

time_point tenure::believed_until() const {
    if (hold_.owns_lock()) {
        return hold_.valid_until();
    }
    return std::min(hold_.valid_until(), told_->value_or(clock::now()));
}

// The lease is what is left of it, so that both together still say when the server has confirmed
// the hold for the last time.
std::string tenure::claim() const {
    const time_point until = believed_until();
    const duration lease = lease_ - (hold_.valid_until() - until);
    return name_ + ' ' + std::to_string(hold_.fence()) + ' ' +
           std::to_string(until.time_since_epoch().count()) + ' ' + std::to_string(lease.count());
}

witness::witness(asio::io_context& io, const std::string& path) : socket_{io} {
    socket_.connect(asio::local::stream_protocol::endpoint{path});
}

asio::awaitable<witness::answer> witness::say(std::string line) {
    out_ = std::move(line);
    out_ += '\n';
    co_await asio::async_write(socket_, asio::buffer(out_), asio::deferred);
    const std::size_t size =
        co_await asio::async_read_until(socket_, asio::dynamic_buffer(in_), '\n', asio::deferred);
    answer a;
    a.accepted = in_.front() == '+';
    const char* const end = in_.data() + size - 1;
    const auto first = std::from_chars(in_.data() + 2, end, a.value);
    std::from_chars(std::min(first.ptr + 1, end), end, a.unfenced);
    in_.erase(0, size);
    co_return a;
}

asio::awaitable<witness::answer> witness::enter(const std::string& worker, const tenure& t,
                                                duration waited) {
    return say("enter " + worker + ' ' + t.claim() + ' ' + std::to_string(waited.count()));
}

asio::awaitable<witness::answer> witness::write(const tenure& t, std::uint64_t value) {
    return say("write " + t.claim() + ' ' + std::to_string(value));
}

asio::awaitable<witness::answer> witness::write_unfenced(const tenure& t, std::uint64_t value) {
    return say("write-unfenced " + t.claim() + ' ' + std::to_string(value));
}

asio::awaitable<witness::answer> witness::leave(const tenure& t) {
    return say("leave " + t.claim());
}

asio::awaitable<witness::answer> witness::taken(const tenure& t) {
    return say("taken " + t.claim());
}

}  // namespace conch::soak
