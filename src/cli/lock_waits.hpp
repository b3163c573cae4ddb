// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_WAITS_HPP
#define CONCH_SRC_CLI_LOCK_WAITS_HPP

#include "cli/lock_entry.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What holders wait for: clients with `config::deadlock_detection` write it beside their locks.
namespace conch::cli {

/// The key where the client of a holder with this field would have written it.
std::string key_of_waits(std::string_view name, std::string_view field);
/// So many bytes of it are read, in decimal.
inline constexpr const char* longest_waits = "16384";
/// Those in such a value; empty if it is none. `now_us`: the server's clock.
std::vector<holder_wait> waits_in(std::string_view value, std::int64_t now_us);

/// Notes of each of these how long it is waited for, as far as holders of the others tell.
void note_longest_waits(std::vector<lock_entry>& all);

/// The way over what is waited for from a lock that is held: to a cycle, if one is found; else as
/// far as it goes. Each step is looked at once.
class wait_paths {
public:
    explicit wait_paths(const lock_entry& from);
    /// The next one that is to be looked at; null: there is none, or it is enough.
    wait_step* next();
    std::vector<wait_step> longest() const;

private:
    static constexpr std::size_t none = ~std::size_t{0};
    static constexpr std::size_t most = 32;

    struct place {
        wait_step step{};
        std::size_t before = none;
        std::size_t depth = 0;
    };

    void add(const std::vector<lock_holder>& holders, std::size_t before);
    bool is_on_way(const std::string& name, std::size_t at) const;

    const std::string from_;
    std::vector<place> places_{};
    std::size_t at_ = none;     ///< the one that is looked at
    std::size_t cycle_ = none;  ///< where one closes
};

/// "orders:7", and "+1" if there is one more; of the first holder that waits. Empty: none does.
std::string waits_text(const lock_entry& e);

}  // namespace conch::cli

#endif
