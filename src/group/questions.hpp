// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_QUESTIONS_HPP
#define CONCH_SRC_GROUP_QUESTIONS_HPP

#include "group/members.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace conch::group {

/// What members were asked and have not answered: who asked lives until then.
class questions {
public:
    /// The id of one more, of which `by->Told(member, serial, reply)` will hear.
    template <auto Told, typename T>
    std::uint64_t add(std::shared_ptr<T> by, std::size_t member, std::uint64_t serial = 0) {
        const auto tell = [](void* to, std::size_t m, std::uint64_t s, reply& r) {
            (static_cast<T*>(to)->*Told)(m, s, r);
        };
        open_.emplace(++last_, question{std::move(by), tell, member, serial});
        return last_;
    }
    void told(std::uint64_t id, reply& r) {
        if (const auto it = open_.find(id); it != open_.end()) {
            const question q = std::move(it->second);
            open_.erase(it);
            q.tell(q.by.get(), q.member, q.serial, r);
        }
    }
    std::size_t size() const noexcept { return open_.size(); }
    void clear() noexcept { std::exchange(open_, {}).clear(); }

private:
    struct question {
        std::shared_ptr<void> by;
        void (*tell)(void* by, std::size_t member, std::uint64_t serial, reply& r);
        std::size_t member;
        std::uint64_t serial;
    };

    std::map<std::uint64_t, question> open_{};
    std::uint64_t last_ = 0;
};

}  // namespace conch::group

#endif
