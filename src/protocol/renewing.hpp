// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_RENEWING_HPP
#define CONCH_SRC_PROTOCOL_RENEWING_HPP

#include "protocol/lock_protocol.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"
#include "wire/call.hpp"

#include <cstddef>
#include <cstdint>

// One script that renews many holds of one protocol.
namespace conch::protocol {

/// How many holds share a script. While it looks at many permits, the server does nothing else.
class renewal_room {
public:
    static constexpr std::size_t most = 100;

    /// Takes one more. False: it leaves with the next script. The first one always has room.
    bool take(const impl::lock_spec& s) noexcept {
        if (holds_ > 0 && (holds_ == most || permits_ + s.permits() > most_permits)) {
            return false;
        }
        ++holds_;
        permits_ += s.permits();
        return true;
    }

private:
    static constexpr std::size_t most_permits = 1000;

    std::size_t holds_ = 0;
    std::size_t permits_ = 0;
};

/// `request_of(i)`: the `renew_item` of one of them, from 0 to `count` - 1.
template <typename RequestOf>
void encode_renewal(const wire::call& c, const lock_protocol& p, std::size_t count,
                    RequestOf request_of, resp::writer& w) {
    wire::write_script(w, c, p.renew, count * p.renew_keys_each, count * p.renew_args_each);
    for (std::size_t i = 0; i < count; ++i) {
        p.renew_keys(request_of(i), w);
    }
    for (std::size_t i = 0; i < count; ++i) {
        p.renew_args(request_of(i), w);
    }
}

/// Of one hold, at one of its keys alone: an index of `lock_protocol::renew_parts`.
void encode_renewal_part(const wire::call& c, const lock_protocol& p, std::size_t part,
                         const renew_item& item, resp::writer& w);

/// What the answer to either says of one of them.
renew_answer read_renewal(const lock_protocol& p, const resp::value& reply, std::size_t i);

}  // namespace conch::protocol

#endif
