// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_QUESTIONS_HPP
#define CONCH_SRC_HOLD_QUESTIONS_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/pending.hpp"
#include "topology/servers.hpp"
#include "wire/call.hpp"

#include <conch/error.hpp>
#include <conch/server_reply.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Looking at a server from outside, at whatever is there.
namespace conch::lock {

class questions;

/// One command that only reads. It is not repeated: the next connection may be to another server,
/// for which the cursor of a scan has no meaning.
struct question : pending, wire::call {
    question(caller c, questions& h, std::vector<std::string>&& words, std::uint16_t slot,
             server_reply* out) noexcept;

    static const pending_kind own_kind;

    questions& home;
    std::vector<std::string> command;
    std::uint16_t asked_slot;
    server_reply* result;  ///< null: nobody wants it any more
    core::timer patience;
};

/// Those of one client that are not answered.
class questions {
public:
    questions(core::environment& env, completions& done, topology::servers& servers) noexcept
        : env_{env}, done_{done}, servers_{servers} {}

    /// Writes the answer to `*result`.
    void ask(std::vector<std::string>&& command, std::uint16_t hash_slot, caller from,
             server_reply* result);
    /// The caller gives up.
    void give_up(question& q, error_code why);
    /// All do, or those that ask at this link.
    void give_up_all(error_code why, const wire::link* at = nullptr);

    std::size_t live() const noexcept { return pool_.live(); }

    // For its parts.

    void end(question& q, error_code ec);
    wire::link& link_of(const question& q) const { return servers_.serving(q.asked_slot); }

private:
    core::environment& env_;
    completions& done_;
    topology::servers& servers_;
    core::pool<question> pool_{};
    pending_list all_{};
};

}  // namespace conch::lock

#endif
