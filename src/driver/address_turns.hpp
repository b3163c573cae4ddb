// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_ADDRESS_TURNS_HPP
#define CONCH_SRC_DRIVER_ADDRESS_TURNS_HPP

#include "wire/address.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace conch::impl {

/// Which of a host's addresses is tried first. One that never answers takes all the time that an
/// attempt to connect has; so each attempt that follows a failed one begins with the next address,
/// and with the same where that was good. Those of different connections do not count for each
/// other: else two that try in turn could begin with the same one each time.
class address_turns {
public:
    /// An attempt begins: so many failed since the first. `place`: whose connection it is.
    std::size_t begin(std::size_t place, const wire::address& host) {
        if (failed_.size() >= most_hosts) {
            failed_.clear();  // as when all were new
        }
        return failed_[{place, host.text()}]++;
    }
    /// It did not fail: the server was greeted, and is of use.
    void answered(std::size_t place, const wire::address& host) {
        const auto it = failed_.find({place, host.text()});
        if (it != failed_.end() && --it->second == 0) {
            failed_.erase(it);
        }
    }
    /// It turned out to be of no use: as if the attempt had failed.
    void left(std::size_t place, const wire::address& host) { begin(place, host); }
    /// Puts the addresses into the order in which they are tried then. Not that of the resolver
    /// once one has failed: some resolvers turn it by themselves, and both could end where they
    /// began.
    template <typename Addresses>
    static void arrange(Addresses& all, std::size_t failed) {
        if (failed != 0 && !all.empty()) {
            std::sort(all.begin(), all.end());
            const auto first = static_cast<std::ptrdiff_t>(failed % all.size());
            std::rotate(all.begin(), all.begin() + first, all.end());
        }
    }

    /// So many hosts that did not answer are remembered.
    static constexpr std::size_t most_hosts = 4096;

private:
    std::map<std::pair<std::size_t, std::string>, std::size_t> failed_{};
};

}  // namespace conch::impl

#endif
