// SPDX-License-Identifier: BSL-1.0
#include "kind_names.hpp"

#include <stdexcept>
#include <utility>

namespace conch::bench {

kind_names::kind_names(event_loop& loop, const config& server, std::string prefix,
                       std::size_t count, name_kind kind)
    : loop_{loop},
      client_{loop.context(), server},
      prefix_{std::move(prefix)},
      kind_{kind},
      holds_(count) {}

mutex kind_names::lock(std::size_t i, bool blocks) const {
    switch (kind_) {
        case name_kind::fair: return fair_mutex{client_, name(i)};
        case name_kind::reader: {
            const shared_mutex m{client_, name(i)};
            return blocks ? m.writer() : m.reader();
        }
        case name_kind::permit: return semaphore{client_, name(i)}.permits(1);
        case name_kind::multi_lock: {
            const mutex first{client_, name(i)};
            return blocks ? first : multi_lock{first, mutex{client_, name(i) + ":second"}};
        }
        default: return mutex{client_, name(i)};
    }
}

kind_names::done kind_names::answered(std::size_t& open) {
    return [this, &open](error_code ec) {
        if (ec) {
            throw std::runtime_error{ec.message()};
        }
        if (--open == 0) {
            loop_.stop();
        }
    };
}

void kind_names::for_each(const std::function<void(std::size_t, done)>& begin) {
    std::size_t open = holds_.size();
    for (std::size_t i = 0; i < holds_.size(); ++i) {
        begin(i, answered(open));
    }
    loop_.run();
}

void kind_names::block_all() {
    if (kind_ == name_kind::counter) {
        return;  // there are none
    }
    if (kind_ == name_kind::latch || kind_ == name_kind::permit) {
        for_each([&](std::size_t i, const done& end) {
            const auto set = [end](error_code ec, bool) { end(ec); };
            if (kind_ == name_kind::latch) {
                latch{client_, name(i)}.async_try_set_count(1, set);
            } else {
                semaphore{client_, name(i)}.async_try_set_permits(1, set);
            }
        });
    }
    if (kind_ != name_kind::latch) {
        for_each([&](std::size_t i, const done& end) {
            lock(i, true).async_lock([this, i, end](error_code ec, hold h) {
                holds_[i] = std::move(h);
                end(ec);
            });
        });
    }
}

void kind_names::let_all_go() {
    if (kind_ == name_kind::counter) {
        for_each([&](std::size_t i, const done& end) {
            counting_semaphore{client_, name(i)}.async_release(1, end);
        });
    } else if (kind_ == name_kind::latch) {
        for_each([&](std::size_t i, const done& end) {
            latch{client_, name(i)}.async_count_down([end](error_code ec, auto&&...) { end(ec); });
        });
    } else {
        release_all();
    }
}

void kind_names::ask_for_all() {
    open_ = holds_.size();
    for (std::size_t i = 0; i < holds_.size(); ++i) {
        const auto granted = [this](error_code ec) { answered(open_)(ec); };
        if (kind_ == name_kind::counter) {
            counting_semaphore{client_, name(i)}.async_acquire(granted);
        } else if (kind_ == name_kind::latch) {
            latch{client_, name(i)}.async_wait(granted);
        } else {
            lock(i, false).async_lock([this, i](error_code ec, hold h) {
                holds_[i] = std::move(h);
                answered(open_)(ec);
            });
        }
    }
}

void kind_names::await_grants() {
    if (open_ > 0) {
        loop_.run();
    }
}

void kind_names::release_all() {
    if (kind_ == name_kind::counter || kind_ == name_kind::latch) {
        return;
    }
    for_each([&](std::size_t i, const done& end) { holds_[i].async_unlock(end); });
}

}  // namespace conch::bench
