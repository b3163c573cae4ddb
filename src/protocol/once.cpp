// SPDX-License-Identifier: BSL-1.0
#include "protocol/once.hpp"

namespace conch::protocol {
namespace {

constexpr std::string_view note_prefix = "conch_done:{";

}  // namespace

void encode_once(const wire::call& c, const impl::lock_spec& spec, const field& holder,
                 const impl::once_note& n, resp::writer& w) {
    wire::write_script(w, c, wire::script_id::once, 2, 4).arg(spec.name());
    write_name(w, spec.derived(note_prefix));
    holder.write(w);
    if (n.done_ms) {
        w.arg(*n.done_ms);
    } else {
        w.arg("-");
    }
    w.arg(n.keep_ms()).arg(n.period_ms);
}

std::optional<impl::once_answer> read_once(const resp::value& reply) {
    for (std::size_t i = 0; i < 3; ++i) {
        if (!reply.at(i).is_integer() || reply.at(i).integer() < 0) {
            return std::nullopt;
        }
    }
    return impl::once_answer{.now_ms = reply.at(1).integer(),
                             .done_ms = reply.at(2).integer(),
                             .held = reply.at(0).integer() == 1};
}

}  // namespace conch::protocol
