// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_WITNESS_HPP
#define CONCH_TEST_SOAK_WITNESS_HPP

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace conch::soak {

/// An acquisition as its holder sees it. The hold's event loop must not run on another thread.
class tenure {
public:
    tenure(std::string name, hold h, duration lease);

    const std::string& name() const noexcept { return name_; }
    hold& held() noexcept { return hold_; }
    /// The end of the time in which the holder believes that it owns the lock: moves on with each
    /// renewal, until it is told of a loss.
    time_point believed_until() const;
    /// What the judge is told of it.
    std::string claim() const;

private:
    std::string name_;
    hold hold_;
    duration lease_;
    std::shared_ptr<std::optional<time_point>> told_{};  ///< when it was told of a loss
};

/// A worker's connection to the judge: one question at a time.
class witness {
public:
    struct answer {
        bool accepted = false;
        std::uint64_t value = 0;
        std::uint64_t unfenced = 0;
    };

    witness(boost::asio::io_context& io, const std::string& path);

    /// Throws if the judge is gone.
    boost::asio::awaitable<answer> say(std::string line);

    boost::asio::awaitable<answer> enter(const std::string& worker, const tenure& t,
                                         duration waited);
    boost::asio::awaitable<answer> write(const tenure& t, std::uint64_t value);
    boost::asio::awaitable<answer> write_unfenced(const tenure& t, std::uint64_t value);
    boost::asio::awaitable<answer> leave(const tenure& t);
    boost::asio::awaitable<answer> taken(const tenure& t);

private:
    boost::asio::local::stream_protocol::socket socket_;
    std::string in_{};
    std::string out_{};
};

}  // namespace conch::soak

#endif
