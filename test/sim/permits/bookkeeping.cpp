// SPDX-License-Identifier: BSL-1.0
// What is done to the number of permits, by whom it may be.
#include "sim/permits/simulation.hpp"

#include <optional>
#include <string>

namespace conch::sim::permits {

std::optional<std::size_t> simulation::name_of_key(std::string_view key) const noexcept {
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        if (specs_[name]->name() == key) {
            return name;
        }
    }
    return std::nullopt;
}

void simulation::ran(const script_run& r) {
    const auto name = name_of_key(r.keys.front());
    if (name && r.script == "semaphore_change") {
        note_change(*name, r);
    }
}

// A request that is repeated is answered as before, and changes nothing.
void simulation::note_change(std::size_t name, const script_run& r) {
    constexpr std::int64_t done = 1;
    if (r.answer.items.size() != 2 || r.answer.items[0].integer != done ||
        !requests_.emplace(r.keys[1]).second) {
        return;
    }
    book& b = books_[name];
    const account a = look(name);
    const std::int64_t n = to_integer(r.args[4]).value_or(0);
    if (r.args[3] == "try_set" && b.is_set() && !may_lose()) {
        violate("setting", "permits are set that were set before");
    }
    const bool adds = r.args[3] == "add";
    const std::int64_t before = !adds ? 0 : b.is_set() ? b.total() : a.over + a.out;
    b.change(world_.now(), before + n, a.left);
}

}  // namespace conch::sim::permits
