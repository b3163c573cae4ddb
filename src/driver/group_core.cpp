// SPDX-License-Identifier: BSL-1.0
#include "driver/group_core.hpp"

#include "core/check.hpp"
#include "driver/identity.hpp"

#include <conch/impl/tracked.hpp>

#include <boost/algorithm/string/join.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace conch::impl {
namespace {

// The first mark counts, as with a public hold.
void mark(const core_ptr& core, hold_view& v, hold_request what) noexcept {
    hold_request none = hold_request::none;
    if (v.asked.compare_exchange_strong(none, what, std::memory_order_acq_rel) &&
        !core->inherited()) {
        core->look_at(v);
    }
}

}  // namespace

/// What a client is asked for: from the call until its answer was taken. Nobody hears the answer
/// where the quorum's execution context is gone.
struct group_core::question final : status_operation {
    question(const request& w, std::shared_ptr<group_core> of, std::size_t m, std::uint64_t i)
        : status_operation{w, &question::ended},
          home{std::move(of)},
          work{home->own_executor()},
          member{m},
          id{i},
          number{(*home->members_)[m].core->next_ticket()} {
        ticket = number & last_ticket;
    }
    ~question() {
        if (&what == &request::try_lock && view) {
            mark((*home->members_)[member].core, *view, hold_request::release);
        }
    }

    static void ended(operation* base, bool delivered) noexcept {
        auto& q = static_cast<question&>(*base);
        q.core.reset();
        if (!delivered) {  // the client's execution context is gone
            q.ec = errc::client_closed;
            q.view.reset();
        }
        q.home->answered(q);
    }

    const std::shared_ptr<group_core> home;
    const tracked<boost::asio::any_io_executor> work;
    const std::size_t member;
    const std::uint64_t id;
    const std::uint64_t number;  ///< its ticket, for any strand
};

/// Seen by the user's threads, too.
struct group_core::guarded_view final : group::view {
    explicit guarded_view(std::shared_ptr<const member_list> all)
        : view{own_kind, all->size()}, clients{std::move(all)} {}

    static const kind own_kind;

    const std::shared_ptr<const member_list> clients;
    mutable std::mutex mutex{};
};

const group::view::kind group_core::guarded_view::own_kind{
    {.until = &group::view::until,
     .note_progress = &group::view::note_progress,
     .destroy =
         [](composite_view& v) noexcept {
             auto* const self = static_cast<guarded_view*>(&v);
             for (std::size_t i = 0; i < self->parts.size(); ++i) {
                 if (const view_ptr& part = self->parts[i]) {
                     mark((*self->clients)[i].core, *part, hold_request::release);
                 }
             }
             delete self;
         }},
    [](const view& v) noexcept { static_cast<const guarded_view&>(v).mutex.lock(); },
    [](const view& v) noexcept { static_cast<const guarded_view&>(v).mutex.unlock(); },
};

group_core::group_core(member_list all, const group::terms& how)
    : strand_core{all.front().core->executor()},
      members_{std::make_shared<const member_list>(std::move(all))},
      first_{members_->front().core},
      group_{*this, members_->size(), first_->settings(), how, random_seed()} {
    join_context();
}

// No question is open, as each keeps this.
group_core::~group_core() {
    drop_all();
    leave_context_service();
}

void group_core::context_gone() noexcept {
    close_gate();
    drop_all();
    give_context_up();
}

void group_core::drop_all() noexcept {
    group_.close();
    discard(group_.completions());
    open_.clear();
    operation* dropped = nullptr;
    {
        const std::lock_guard guard{answers_mutex_};
        deaf_ = true;
        dropped = std::exchange(answers_, nullptr);
        last_answer_ = &answers_;
    }
    while (dropped) {
        const std::unique_ptr<question> q{static_cast<question*>(dropped)};
        dropped = q->next;
    }
}

std::string group_core::servers() const {
    std::vector<std::string> each;
    for (const group_member& m : *members_) {
        std::string at = m.core->servers();
        if (std::ranges::find(each, at) == each.end()) {
            each.push_back(std::move(at));
        }
    }
    return boost::algorithm::join(each, ", ");
}

void group_core::woken(bool) { turn(); }

// What the loop has read by now comes before what is due.
void group_core::turn() {
    const time_point now = clock::now();
    group_.begin_turn(now);
    take_answers();
    take_inbox();
    group_.end_turn();
    arm_timer(group_.next_deadline(), now);
    deliver(group_.completions());
}

void group_core::begin(operation& op) {
    CONCH_CHECK(op.what.begin_in_group);  // no handle of such a lock asks for more
    op.what.begin_in_group(*this, op);
}

void group_core::cancel_running(operation& op) {
    group_.cancel(&op, boost::asio::error::operation_aborted);
}

void group_core::asked_of(hold_view& view, hold_request what) {
    if (what == hold_request::detach) {
        group_.detach(view);
    } else {
        group_.release(view);
    }
}

void group_core::try_lock(std::size_t member, std::uint64_t id, const lock_options& o) {
    ask(request::try_lock, member, id, nullptr, asked_options{o});
}

void group_core::unlock(std::size_t member, std::uint64_t id, const view_ptr& hold) {
    ask(request::unlock, member, id, hold, asked_options{});
}

void group_core::leave(std::size_t member, std::uint64_t id, const view_ptr& hold, duration lease) {
    ask(request::leave, member, id, hold, asked_options{lease});
}

void group_core::extend(std::size_t member, std::uint64_t id, const view_ptr& hold,
                        duration lease) {
    ask(request::extend, member, id, hold, asked_options{lease});
}

void group_core::wait_lost(std::size_t member, std::uint64_t id, const view_ptr& hold,
                           duration before) {
    ask(request::wait_lost, member, id, hold, asked_options{before});
}

void group_core::status(std::size_t member, std::uint64_t id, const status_options& o) {
    ask(request::status, member, id, nullptr, asked_options{o});
}

void group_core::force_unlock(std::size_t member, std::uint64_t id) {
    ask(request::force_unlock, member, id, nullptr, asked_options{});
}

void group_core::ask(const request& what, std::size_t member, std::uint64_t id,
                     const view_ptr& hold, const asked_options& options) {
    const group_member& m = (*members_)[member];
    auto* const q =
        new question{what, std::static_pointer_cast<group_core>(shared_from_this()), member, id};
    q->core = m.core;
    q->spec = m.spec;
    q->view = hold;
    q->options = options;
    open_.emplace(id, q);
    submit_for_another(*q);
}

void group_core::withdraw(std::uint64_t id) noexcept {
    if (const auto it = open_.find(id); it != open_.end()) {
        const question& q = *it->second;
        request_cancel((*members_)[q.member].core, q.number);
    }
}

void group_core::answered(question& q) noexcept {
    const std::shared_ptr<group_core> self = q.home;  // the strand may end the question at once
    if (!put_answer(q)) {
        delete &q;
    } else if (wakes()) {
        wake();
    }
}

bool group_core::put_answer(operation& q) noexcept {
    const std::lock_guard guard{answers_mutex_};
    if (deaf_) {
        return false;
    }
    q.next = nullptr;
    *std::exchange(last_answer_, &q.next) = &q;
    return true;
}

void group_core::take_answers() {
    operation* first = nullptr;
    {
        const std::lock_guard guard{answers_mutex_};
        first = std::exchange(answers_, nullptr);
        last_answer_ = &answers_;
    }
    while (first) {
        const std::unique_ptr<question> q{static_cast<question*>(first)};
        first = q->next;
        open_.erase(q->id);
        group_.told(q->id, {q->ec, std::move(q->view), q->said, std::move(q->status)});
    }
}

group::view* group_core::make_view() { return new guarded_view{members_}; }

void group_core::release(std::size_t member, const view_ptr& hold) noexcept {
    mark((*members_)[member].core, *hold, hold_request::release);
}

void group_core::detach(std::size_t member, const view_ptr& hold) noexcept {
    mark((*members_)[member].core, *hold, hold_request::detach);
}

}  // namespace conch::impl
