// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_WATCH_HPP
#define CONCH_SRC_GROUP_WATCH_HPP

#include "core/timer_heap.hpp"
#include "group/task.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace conch::group {

class holding;

/// Waits for the end of a group's hold: for the same of each member; told when those that have not
/// told of their end are no majority. Ahead of an end that is set, whatever the members say, it
/// tells by itself.
class watch final : public task {
public:
    watch(context& ctx, void* tag, std::shared_ptr<holding> of, duration before);
    ~watch() override;

    /// Those that there are.
    void begin();
    /// This member too, from now on.
    void add(std::size_t member);
    /// A member told of its end, or has no part in the hold any more: `why`.
    void recount(error_code why);
    /// The hold has ended.
    void end(error_code why);
    void cancel(error_code why) override;

private:
    struct notice {
        std::uint64_t told = 0;     // serial of the member's hold
        std::uint64_t refused = 0;  // serial of one for whose watch its client had no room
        bool closing = false;       // so it told
        std::uint64_t asked = 0;    // the question on its way
    };

    void heard(std::size_t member, std::uint64_t serial, reply& r);
    void told(std::size_t member, std::uint64_t serial, error_code why);
    void watch_renewed();
    void watch_later(std::size_t member, std::uint64_t serial);
    static void on_again(void* self);
    void set_most();
    static void on_most(void* self);
    std::size_t silent() const noexcept;

    const std::shared_ptr<holding> of_;
    const duration before_;
    std::vector<notice> notices_;
    core::timer again_;
    core::timer most_;
};

}  // namespace conch::group

#endif
