// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_JUDGE_HPP
#define CONCH_TEST_SOAK_JUDGE_HPP

#include "soak/unfenced_counter.hpp"
#include "support/fenced_resource.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace conch::soak {

/// All that the workers told so far.
struct testimony {
    test::resource_report resource{};
    unfenced_report unfenced{};
    std::vector<std::string> findings{};            ///< what is wrong, one line each
    std::map<std::string, std::uint64_t> served{};  ///< acquisitions of each worker
    std::map<std::string, std::uint64_t> counts{};  ///< of whatever they count
    std::uint64_t acquisitions = 0;
    duration longest_wait{};
};

/// The fenced resource and the unfenced counters, in a thread of its own, at a unix socket. Each
/// worker has a connection, and says one line at a time:
///
///     enter WORKER NAME FENCE VALID_UNTIL LEASE WAITED
///     write NAME FENCE VALID_UNTIL LEASE VALUE
///     write-unfenced NAME FENCE VALID_UNTIL LEASE VALUE
///     leave NAME FENCE VALID_UNTIL LEASE
///     taken NAME FENCE VALID_UNTIL LEASE
///     count WHAT
///     wrong TEXT
///
/// with times in ns. VALID_UNTIL is the end of the time in which the holder believed that it owned
/// the lock, as far as it knows; "taken" says that the server didn't know the hold any more. The
/// answer is "+ VALUE UNFENCED_VALUE", or "-" for "+" where the fence is refused. Thread safe.
class judge {
public:
    explicit judge(const std::string& folder);
    ~judge();
    judge(const judge&) = delete;
    judge& operator=(const judge&) = delete;

    const std::string& socket_path() const noexcept { return path_; }
    testimony heard() const;
    /// The server that keeps these locks lost what it knew, some time between the two.
    void data_lost(const std::string& name_prefix, time_point from, time_point to);

private:
    struct session;
    using protocol = boost::asio::local::stream_protocol;

    void accept();
    void next(const std::shared_ptr<session>& s);
    std::string answer(const std::string& line);
    void taken(const test::claim& c);
    void found(std::string what);

    std::string path_;
    boost::asio::io_context io_{1};
    protocol::acceptor acceptor_;
    mutable std::mutex guard_{};
    test::fenced_resource resource_{};
    data_losses losses_{};
    unfenced_counter unfenced_{losses_};
    testimony heard_{};
    std::thread thread_{};
};

}  // namespace conch::soak

#endif
