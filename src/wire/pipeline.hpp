// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_PIPELINE_HPP
#define CONCH_SRC_WIRE_PIPELINE_HPP

#include "wire/call.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace conch::wire {

/// The calls of one connection: those that wait to be written, by priority, and those that were
/// written and not answered, in the order of their answers. Nothing is encoded before the write
/// that carries it starts, so that a call can be taken back until then.
class pipeline {
public:
    static constexpr std::size_t most_joined = joint_form::most;

    /// So many calls at least leave as one script. By default as many as it takes until that is
    /// cheaper for the server than a script for each.
    void join_from(std::size_t fewest) noexcept { fewest_joined_ = fewest; }

    /// Puts a call that is idle behind the others of its priority.
    void submit(call& c) noexcept;
    /// The same, before the others.
    void submit_first(call& c) noexcept;
    /// Puts a call back before the others, to be sent again.
    void submit_again(call& c) noexcept;
    /// Puts a call of another pipeline behind the others, as it is.
    void adopt(call& c) noexcept;
    /// Moves what waits to `gone`, in its order, where `leaves` says so; nothing of a greeting.
    template <typename Predicate>
    void take_waiting(call_list& gone, Predicate leaves) noexcept {
        for (std::size_t i = 1; i < waiting_.size(); ++i) {
            take_from(waiting_[i], gone, leaves);
        }
    }
    template <typename Predicate>
    static void take_from(call_list& all, call_list& gone, Predicate leaves) noexcept {
        for (auto it = all.begin(); it != all.end();) {
            call& c = *it++;
            if (leaves(c)) {
                c.unlink();
                gone.push_back(c);
            }
        }
    }
    /// From now on the call is not more urgent than its type, also where it waits already.
    void calm(call& c) noexcept;
    /// Takes back a call that waits. It is idle then, whether it was written before or not.
    void withdraw(call& c) noexcept;

    /// There is something to write; before the connection is `ready`, of the greeting only.
    bool has_output(bool ready) const noexcept;
    /// Somebody waits for some of that.
    bool hurries(bool ready) const noexcept;
    /// Encodes waiting calls, greeting first, until `out` exceeds `limit` bytes; `now` is when
    /// their write starts. Returns how many scripts are among them.
    std::size_t stage(std::string& out, bool ready, time_point now, std::size_t limit);
    /// Puts calls back that a reply to all of them has answered: they leave again, in their order.
    void submit_again(std::span<call* const> calls) noexcept;

    /// There is nothing in it.
    bool empty() const noexcept {
        return written_.empty() && waiting_[0].empty() && waiting_[1].empty() &&
               waiting_[2].empty();
    }
    bool awaits_answer() const noexcept { return !written_.empty(); }
    /// The call that the next reply answers; null if none is awaited.
    call* next_answered() noexcept { return written_.empty() ? nullptr : &written_.front(); }
    /// Takes it from the list; its state stays until it ends or waits again.
    call* take_answered() noexcept;

    /// The connection broke at `now`. Written calls that are still wanted and may be
    /// replayed wait again, before the others and in their old order; the rest end as lost.
    std::size_t connection_lost(time_point now);

    /// Nothing will be written any more: what waits ends as lost.
    void drop_waiting();

private:
    static void end_as_lost(call_list& lost);
    static void begin(call& c) noexcept;
    std::size_t take_joint(call_list& from, std::span<call*> to) const noexcept;
    void written(call& c, time_point now) noexcept;
    call_list& waiting(const call& c) noexcept {
        return waiting_[static_cast<std::size_t>(c.order)];
    }

    std::array<call_list, 3> waiting_{};
    call_list written_{};
    std::uint64_t serial_ = 0;
    std::size_t fewest_joined_ = 8;
};

}  // namespace conch::wire

#endif
