// SPDX-License-Identifier: BSL-1.0
// The answers to calls that left as one script.
#include "wire/link.hpp"
#include "wire/server_error.hpp"

#include <array>

namespace conch::wire {

// As if each had left by itself. An answer may end the connection, and with it the others.
void link::answer_joined(std::size_t count, const resp::value& replies) {
    if (replies.is_error()) {
        refused_together(count, replies);
        return;
    }
    if (replies.size() != count) {
        protocol_violation("an array of another length than asked for");
        return;
    }
    const std::uint64_t epoch = wanted_;
    for (std::size_t i = 0; i < count && wanted_ == epoch; ++i) {
        answer(*pipeline_.take_answered(), replies.at(i));
    }
}

// None of them ran. What is wrong with one of them, such as a name that this user may not use,
// is no reason to refuse the others.
void link::refused_together(std::size_t count, const resp::value& reply) {
    const bool divided = is_divided(reply.text());
    const refusal why = divided ? refusal::lasting : classify(reply.text());
    remember_words(reply.text());
    // All of them first: an answer may end the connection.
    std::array<call*, pipeline::most_joined> all;
    for (std::size_t i = 0; i < count; ++i) {
        all[i] = pipeline_.take_answered();
    }
    const bool of_replica = demoted(reply.text());
    std::array<call*, pipeline::most_joined> again;
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
        call& c = *all[i];
        if (!divided && redirect(c, reply.text())) {
            continue;
        }
        const bool goes_again = !c.abandoned() && (of_replica || why == refusal::lasting ||
                                                   (why == refusal::no_script && !c.by_body));
        if (!goes_again) {
            answer(c, reply);
            continue;
        }
        c.by_body = !of_replica && why == refusal::no_script;
        c.alone = !of_replica && why == refusal::lasting;
        c.history.not_run();
        again[size++] = &c;
    }
    pipeline_.submit_again({again.data(), size});
}

}  // namespace conch::wire
