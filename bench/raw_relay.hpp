// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_RAW_RELAY_HPP
#define CONCH_BENCH_RAW_RELAY_HPP

#include "reply_counter.hpp"
#include "slice.hpp"
#include "socket.hpp"

#include <conch/config.hpp>

#include <string>
#include <vector>

namespace conch::bench {

/// One lock, passed on as fast as one connection can by the scripts of conch where each acquisition
/// is asked of the server: each release leaves in one write with the acquire that follows it, and
/// both are answered before the next.
class raw_relay {
public:
    explicit raw_relay(const config& server);

    /// A pair is one acquisition and its release.
    slice run(const slice_length& length);

private:
    void exchange(std::string_view commands, std::size_t replies);

    socket socket_;
    reply_counter replies_;
    std::string first_;              // an acquire
    std::vector<std::string> next_;  // the release of one field, the acquire of the next
    std::string last_;               // a release
    std::vector<char> buffer_;
    std::size_t last_count_ = 0;
};

}  // namespace conch::bench

#endif
