// SPDX-License-Identifier: BSL-1.0
#include "api/quorum_query.hpp"

#include "api/quorum_tally.hpp"
#include "core/time.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

/// For those who answer at about the same time as a majority.
constexpr duration least_more = std::chrono::milliseconds{10};

/// Asks all, for so long as one may take to answer.
class query : public quorum_tally {
public:
    query(const std::shared_ptr<quorum_core>& core, operation& op)
        : quorum_tally{core, op, kind::all}, stops_(core->size()) {}
    void begin() {
        core().add(shared_from_this());
        expect_by(core::after(asked_, core().answer_timeout()), errc::not_connected);
        for (std::size_t i = 0; i < core().size(); ++i) {
            expect_one();
            ask(i);
        }
    }

protected:
    virtual void ask(std::size_t member) = 0;
    time_point asked() const noexcept { return asked_; }
    // Nobody wants the rest of the answers.
    void over() override {
        for (asio::cancellation_signal& s : stops_) {
            s.emit(asio::cancellation_type::terminal);
        }
    }

    std::vector<asio::cancellation_signal> stops_;

private:
    const time_point asked_ = clock::now();
};

class status_query final : public query {
public:
    status_query(const std::shared_ptr<quorum_core>& core, operation& op)
        : query{core, op}, options_{op.options.status()}, answers_(core->size()) {}

private:
    void ask(std::size_t i) override {
        const auto self = std::static_pointer_cast<status_query>(shared_from_this());
        core().member(i).lock.async_status(
            options_, core().handler(stops_[i], [self, i](error_code ec, lock_status s) {
                if (!ec) {
                    self->answered(i, std::move(s));
                }
                self->told(ec);
            }));
    }
    void answered(std::size_t i, lock_status s) {
        ++(s.locked ? locked_ : free_);
        answers_[i] = std::move(s);
        if (!completed() && !decided_ && is_decided(free_, locked_, core().size())) {
            decided_ = true;
            have_done();
        }
    }
    // The rest may tell who holds it there, but is not waited for where it is slow or dead.
    void have_done() {
        const time_point now = clock::now();
        const time_point soon = core::after(now, std::max(now - asked(), least_more));
        expect_by(std::min(soon, core::after(asked(), core().answer_timeout())), {});
    }
    void conclude() override {
        std::vector<lock_status> all;
        for (auto& a : answers_) {
            if (a) {
                all.push_back(std::move(*a));
            }
        }
        static_cast<status_operation&>(op()).status = merged(all, core().majority());
    }

    const status_options options_;
    std::vector<std::optional<lock_status>> answers_;
    std::size_t free_ = 0;
    std::size_t locked_ = 0;
    bool decided_ = false;
};

class force_query final : public query {
public:
    using query::query;

private:
    void ask(std::size_t i) override {
        const auto self = std::static_pointer_cast<force_query>(shared_from_this());
        core().member(i).lock.async_force_unlock(
            core().handler(stops_[i], [self](error_code ec, bool done) {
                self->done_ = self->done_ || (!ec && done);
                self->told(ec);
            }));
    }
    void conclude() override { op().flag = done_; }

    bool done_ = false;
};

}  // namespace

lock_status merged(std::span<const lock_status> answers, std::size_t majority) {
    lock_status all;
    std::size_t free = 0;
    bool expires = true;
    std::vector<std::string_view> holders;
    for (const lock_status& s : answers) {
        all.waiting_clients = std::max(all.waiting_clients, s.waiting_clients);
        if (!s.locked) {
            ++free;
            continue;
        }
        if (std::find(holders.begin(), holders.end(), s.holder) == holders.end()) {
            holders.push_back(s.holder);
            all.holder.append(all.holder.empty() ? "" : " ").append(s.holder);
        }
        if (all.holder_host.empty() && !s.holder_host.empty()) {
            all.holder_host = s.holder_host;
            all.holder_pid = s.holder_pid;
            all.holder_address = s.holder_address;
        }
        all.depth = std::max(all.depth, s.depth);
        expires = expires && s.ttl.has_value();
        all.ttl = std::max(all.ttl, s.ttl);
    }
    all.locked = free < majority;
    if (!expires) {
        all.ttl.reset();
    }
    return all;
}

void start_status(const std::shared_ptr<quorum_core>& core, operation& op) {
    std::make_shared<status_query>(core, op)->begin();
}

void start_force_unlock(const std::shared_ptr<quorum_core>& core, operation& op) {
    std::make_shared<force_query>(core, op)->begin();
}

}  // namespace conch::impl
