// SPDX-License-Identifier: BSL-1.0
#include "group/query.hpp"

#include "core/time.hpp"
#include "group/tally.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace conch::group {
namespace {

/// For those who answer at about the same time as a majority.
constexpr duration least_more = std::chrono::milliseconds{10};

/// Asks all, for so long as one may take to answer.
class query : public tally {
public:
    query(context& ctx, void* tag) : tally{ctx, tag, kind::all}, asked_{ctx.now}, ids_(ctx.size) {}
    void begin() {
        enter();
        expect_by(core::after(asked_, ctx().how.answer_timeout), errc::not_connected);
        for (std::size_t i = 0; i < ctx().size; ++i) {
            ids_[i] = expect(i);
            ask(i, ids_[i]);
        }
    }

protected:
    virtual void ask(std::size_t member, std::uint64_t id) = 0;
    time_point asked() const noexcept { return asked_; }
    // Nobody wants the rest of the answers.
    void over() override {
        for (const std::uint64_t id : ids_) {
            ctx().all.withdraw(id);
        }
    }

private:
    const time_point asked_;
    std::vector<std::uint64_t> ids_;
};

class status_query final : public query {
public:
    status_query(context& ctx, const status_options& options, void* tag, lock_status* result)
        : query{ctx, tag}, options_{options}, result_{result}, answers_(ctx.size) {}

private:
    void ask(std::size_t i, std::uint64_t id) override { ctx().all.status(i, id, options_); }
    void answered(std::size_t i, reply& r) override {
        if (r.ec) {
            return;
        }
        ++(r.status.locked ? locked_ : free_);
        answers_[i] = std::move(r.status);
        if (!completed() && !decided_ && is_decided(free_, locked_, ctx().size, ctx().how.needed)) {
            decided_ = true;
            have_done();
        }
    }
    // The rest may tell who holds it there, but is not waited for where it is slow or dead.
    void have_done() {
        const time_point now = ctx().now;
        const time_point soon = core::after(now, std::max(now - asked(), least_more));
        expect_by(std::min(soon, core::after(asked(), ctx().how.answer_timeout)), {});
    }
    void conclude() override {
        std::vector<lock_status> all;
        for (auto& a : answers_) {
            if (a) {
                all.push_back(std::move(*a));
            }
        }
        *result_ = merged(all, ctx().how.needed);
    }

    const status_options options_;
    lock_status* const result_;
    std::vector<std::optional<lock_status>> answers_;
    std::size_t free_ = 0;
    std::size_t locked_ = 0;
    bool decided_ = false;
};

class force_query final : public query {
public:
    using query::query;

private:
    void ask(std::size_t i, std::uint64_t id) override { ctx().all.force_unlock(i, id); }
    void answered(std::size_t, reply& r) override {
        done_ = done_ || (!r.ec && r.said == impl::remark::done);
    }
    void conclude() override { say(impl::done_if(done_)); }

    bool done_ = false;
};

}  // namespace

lock_status merged(std::span<const lock_status> answers, std::size_t needed) {
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
            all.holder_service = s.holder_service;
            all.holder_host = s.holder_host;
            all.holder_pid = s.holder_pid;
            all.holder_address = s.holder_address;
        }
        all.depth = std::max(all.depth, s.depth);
        expires = expires && s.ttl.has_value();
        all.ttl = std::max(all.ttl, s.ttl);
    }
    all.locked = free < needed;
    if (!expires) {
        all.ttl.reset();
    }
    return all;
}

void start_status(context& ctx, const status_options& options, void* tag, lock_status* result) {
    std::make_shared<status_query>(ctx, options, tag, result)->begin();
}

void start_force_unlock(context& ctx, void* tag) {
    std::make_shared<force_query>(ctx, tag)->begin();
}

}  // namespace conch::group
