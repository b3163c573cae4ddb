// SPDX-License-Identifier: BSL-1.0
#include "raw_holds.hpp"

#include "greeting.hpp"
#include "hold/renewal.hpp"
#include "raw_command.hpp"

#include <algorithm>
#include <stdexcept>

namespace conch::bench {

raw_holds::raw_holds(const config& server, const std::string& prefix, std::size_t count,
                     std::string_view lease_ms)
    : socket_{server}, control_{server}, count_{count}, buffer_(64 * 1024) {
    greet(socket_, server);
    std::string acquires;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        names.push_back(prefix + std::to_string(i));
        append_acquire(acquires, names[i], field_of(i), lease_ms);
        append_release(releases_, names[i], field_of(i), channel_of(names[i]));
    }
    for (std::size_t from = 0; from < count; from += lock::renewal::most) {
        const std::size_t to = std::min<std::size_t>(count, from + lock::renewal::most);
        append_renewal(renewals_, {names.data() + from, to - from}, from, lease_ms);
        answers_ += '*' + std::to_string(to - from) + "\r\n";
        for (std::size_t i = from; i < to; ++i) {
            answers_ += ":1\r\n";
        }
    }
    control_.pipeline(acquires, count);
}

raw_holds::~raw_holds() {
    try {
        control_.pipeline(releases_, count_);
    } catch (const std::exception&) {  // their leases end them
    }
}

void raw_holds::renew_all() {
    std::string_view due = renewals_;
    std::string_view expected = answers_;
    while (!expected.empty()) {
        if (!due.empty()) {
            due.remove_prefix(socket_.send_some(due, {}));
        }
        const std::size_t n =
            due.empty() ? socket_.receive(buffer_) : socket_.receive_or_writable(buffer_);
        if (!expected.starts_with(std::string_view{buffer_.data(), n})) {
            throw std::runtime_error{"a lock of the raw limit was lost"};
        }
        expected.remove_prefix(n);
    }
}

}  // namespace conch::bench
