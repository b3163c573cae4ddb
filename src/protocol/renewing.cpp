// SPDX-License-Identifier: BSL-1.0
#include "protocol/renewing.hpp"

namespace conch::protocol {

void encode_renewal_part(const wire::call& c, const lock_protocol& p, std::size_t part,
                         const renew_item& item, resp::writer& w) {
    const renew_part& at = p.renew_parts[part];
    wire::write_script(w, c, at.script, 1, p.renew_args_each);
    at.key(item, w);
    at.args(item, w);
}

renew_answer read_renewal(const lock_protocol& p, const resp::value& reply, std::size_t i) {
    if (i >= reply.size()) {
        return {.what = renew_answer::kind::refused,
                .words = "ERR the renewal was not answered for each key"};
    }
    return p.read_renew(reply.at(i));
}

}  // namespace conch::protocol
