// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_HOLDERS_HPP
#define CONCH_SRC_LOCK_HOLDERS_HPP

#include "lock/acquisition.hpp"

#include <cstdint>

namespace conch::lock {

/// Who of this client holds a name: one alone, or any number of readers.
class holders {
public:
    bool none() const noexcept { return !alone_ && readers_ == 0; }
    /// Whether another may hold it beside them.
    bool admit(bool shared) const noexcept { return !alone_ && (shared || readers_ == 0); }
    /// The exclusive one; null if there is none.
    acquisition* alone() const noexcept { return alone_; }
    /// The reader that came last, if it is still here: the server has answered it most lately.
    acquisition* last_reader() const noexcept { return last_reader_; }
    std::uint32_t readers() const noexcept { return readers_; }

    void add(acquisition& a) noexcept {
        a.counted = true;
        if (protocol::is_shared(*a.spec)) {
            ++readers_;
            last_reader_ = &a;
        } else {
            alone_ = &a;
        }
    }
    /// False if it is none of them.
    bool remove(acquisition& a) noexcept {
        if (!a.counted) {
            return false;
        }
        a.counted = false;
        if (alone_ == &a) {
            alone_ = nullptr;
        } else {
            --readers_;
            last_reader_ = last_reader_ == &a ? nullptr : last_reader_;
        }
        return true;
    }

private:
    acquisition* alone_ = nullptr;
    acquisition* last_reader_ = nullptr;
    std::uint32_t readers_ = 0;
};

}  // namespace conch::lock

#endif
