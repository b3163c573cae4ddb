// SPDX-License-Identifier: BSL-1.0
#include "raw_names.hpp"

#include "raw_command.hpp"

namespace conch::bench {

raw_names::raw_names(std::string_view prefix, std::size_t n, std::size_t first_field,
                     std::string_view lease_ms)
    : count{n} {
    for (std::size_t i = 0; i < n; ++i) {
        const std::string name = std::string{prefix} + std::to_string(i);
        const std::string field = field_of(first_field + i);
        const std::string channel = channel_of(name);
        append_acquire(acquires, name, field, lease_ms);
        append_release(releases, name, field, channel);
        append_command(subscriptions, {"SUBSCRIBE", channel});
        append_acquire(subscriptions, name, field, lease_ms);
        append_command(unsubscriptions, {"UNSUBSCRIBE", channel});
    }
}

}  // namespace conch::bench
