// SPDX-License-Identifier: BSL-1.0
#include "protocol/count_spec.hpp"

#include "protocol/spec.hpp"
#include "wire/hash_slot.hpp"

#include <stdexcept>

namespace conch::impl {
namespace {

// Redisson's rule: the name becomes the hash tag, unless it has a brace already.
std::string derived(std::string_view prefix, std::string_view name) {
    const bool has_brace = name.find('{') != name.npos;
    std::string all{prefix};
    all += has_brace ? ":" : ":{";
    all += name;
    return has_brace ? all : all + "}";
}

}  // namespace

count_spec::count_spec(kind what, std::string_view name, bool clustered)
    : what_{what}, hash_slot_{wire::hash_slot_of(name)}, name_{name} {
    const auto refuse = [&](const char* why) {
        const char* const of = what == kind::latch     ? "conch::latch: "
                               : what == kind::permits ? "conch::semaphore: "
                                                       : "conch::counting_semaphore: ";
        throw std::invalid_argument{std::string{of} + why};
    };
    if (name.empty()) {
        refuse("the name is empty");
    }
    if (name.size() > lock_spec::longest_name) {
        refuse("the name is longer than 64 KiB");
    }
    if (clustered && (wire::hash_slot_of(channel()) != hash_slot_ ||
                      wire::hash_slot_of(request_prefix()) != hash_slot_)) {
        refuse(what == kind::latch
                   ? "a latch in a cluster can't have a name with a brace: its channel, which "
                     "is Redisson's, would be in another hash slot"
                   : "the name's hash tag is empty or incomplete (as in {}x, a{b or a}b), so "
                     "that a cluster can't keep what belongs to it in one place");
    }
}

// The name of a latch is always a hash tag, which a brace in it ends too soon.
std::string count_spec::channel() const {
    return what_ == kind::latch ? "redisson_countdownlatch__channel__{" + name_ + '}'
                                : derived("redisson_sc", name_);
}

std::string count_spec::request_prefix() const { return derived("conch_once", name_) + ":"; }

void intrusive_ptr_add_ref(const count_spec* s) noexcept {
    s->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(const count_spec* s) noexcept {
    if (s->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete s;
    }
}

}  // namespace conch::impl
