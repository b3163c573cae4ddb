// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_RAW_HOLDS_HPP
#define CONCH_BENCH_RAW_HOLDS_HPP

#include "connection.hpp"
#include "socket.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace conch::bench {

/// Many locks on the server, renewed by hand: the scripts of conch for as many keys at a time as
/// conch renews, encoded beforehand, as fast as one blocking socket takes them.
class raw_holds {
public:
    /// The names are `prefix` and a number. Takes the locks.
    raw_holds(const config& server, const std::string& prefix, std::size_t count,
              std::string_view lease_ms);
    /// Gives them back.
    ~raw_holds();
    raw_holds(const raw_holds&) = delete;
    raw_holds& operator=(const raw_holds&) = delete;

    /// Renews all. Throws if one is lost.
    void renew_all();

private:
    socket socket_;
    connection control_;
    std::size_t count_;
    std::string renewals_;  // of all holds
    std::string answers_;   // the answers to them
    std::string releases_;
    std::vector<char> buffer_;
};

}  // namespace conch::bench

#endif
