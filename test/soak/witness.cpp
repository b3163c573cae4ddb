// SPDX-License-Identifier: BSL-1.0
#include "soak/witness.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <charconv>
#include <utility>

namespace conch::soak {
namespace {

namespace asio = boost::asio;

/// What a holder says of its hold; one that doesn't own the lock any more claims no time.
std::string claim_of(const std::string& name, const hold& h, duration lease) {
    const auto until = h.owns_lock() ? h.valid_until().time_since_epoch().count() : 0;
    return name + ' ' + std::to_string(h.fence()) + ' ' + std::to_string(until) + ' ' +
           std::to_string(lease.count());
}

}  // namespace

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
    std::from_chars(in_.data() + 2, in_.data() + size - 1, a.value);
    in_.erase(0, size);
    co_return a;
}

asio::awaitable<witness::answer> witness::enter(const std::string& worker, const std::string& name,
                                                const hold& h, duration lease, duration waited) {
    return say("enter " + worker + ' ' + claim_of(name, h, lease) + ' ' +
               std::to_string(waited.count()));
}

asio::awaitable<witness::answer> witness::write(const std::string& name, const hold& h,
                                                duration lease, std::uint64_t value) {
    return say("write " + claim_of(name, h, lease) + ' ' + std::to_string(value));
}

asio::awaitable<witness::answer> witness::leave(const std::string& name, const hold& h) {
    return say("leave " + claim_of(name, h, duration{}));
}

}  // namespace conch::soak
