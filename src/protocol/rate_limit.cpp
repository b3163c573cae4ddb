// SPDX-License-Identifier: BSL-1.0
#include "protocol/rate_limit.hpp"

namespace conch::protocol {

using std::chrono::milliseconds;

// No window is longer than a year: more is no answer of the script, and might overflow.
static constexpr milliseconds longest_answer = std::chrono::hours{24 * 366};

void encode_permits(const wire::call& c, const impl::rate_spec& spec,
                    std::span<const std::uint64_t> permits, resp::writer& w) {
    wire::write_script(w, c, spec.script(), 1, (spec.paced() ? 3 : 2) + permits.size())
        .arg(spec.name())
        .arg(spec.limit())
        .arg(spec.window_ms());
    if (spec.paced()) {
        w.arg(spec.burst());
    }
    for (const std::uint64_t n : permits) {
        w.arg(n);
    }
}

std::optional<permits_answer> read_permits(const resp::value& reply, std::size_t requests) {
    if (reply.size() != 4) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < 4; ++i) {
        if (!reply.at(i).is_integer() || reply.at(i).integer() < 0) {
            return std::nullopt;
        }
    }
    const permits_answer a{.granted = static_cast<std::size_t>(reply.at(0).integer()),
                           .counted = static_cast<std::uint64_t>(reply.at(1).integer()),
                           .retry_after = milliseconds{reply.at(2).integer()},
                           .reset_after = milliseconds{reply.at(3).integer()}};
    const bool good =
        a.granted <= requests && a.retry_after <= longest_answer && a.reset_after <= longest_answer;
    return good ? std::optional{a} : std::nullopt;
}

}  // namespace conch::protocol
