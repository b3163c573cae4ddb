// SPDX-License-Identifier: BSL-1.0
#include "hold/questions.hpp"

#include "wire/server_error.hpp"

#include <utility>

namespace conch::lock {
namespace {

server_reply copy_of(const resp::value& v) {
    using kind = server_reply::kind;
    server_reply out;
    if (v.is_aggregate()) {
        out.type = kind::list;
        out.list.reserve(v.size());
        v.each([&](const resp::value& member) { out.list.push_back(copy_of(member)); });
    } else if (v.is_integer()) {
        out.type = kind::number;
        out.number = v.integer();
    } else if (!v.is_null()) {
        out.type = kind::text;
        out.text = v.text();
    }
    return out;
}

void encode_question(wire::call& c, resp::writer& w) {
    w.words(static_cast<const question&>(c).command);
}

void question_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<question&>(c);
    if (!q.completed() && !o.lost()) {
        *q.result = copy_of(o.reply);
    }
    error_code ec;
    if (!o.answered()) {
        ec = o.lost() ? errc::not_connected : wire::to_errc(o.reply.text());
    }
    q.home.end(q, ec);
}

constexpr wire::call_type question_type{
    .name = "question",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode = &encode_question,
    .done = &question_done,
};

void on_overdue(void* question_) {
    auto& q = *static_cast<question*>(question_);
    q.home.give_up(q, q.home.link_of(q).why_unanswered(q));
}

}  // namespace

const pending_kind question::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& q = static_cast<question&>(p);
    q.home.give_up(q, why);
}};

question::question(caller c, questions& h, std::vector<std::string>&& words, std::uint16_t slot,
                   server_reply* out) noexcept
    : pending{own_kind, c},
      wire::call{question_type},
      home{h},
      command{std::move(words)},
      asked_slot{slot},
      result{out},
      patience{this, &on_overdue} {}

void questions::ask(std::vector<std::string>&& command, std::uint16_t hash_slot, caller from,
                    server_reply* result) {
    question& q = pool_.make(from, *this, std::move(command), hash_slot, result);
    all_.push_back(q);
    env_.timers.set(q.patience, core::after(env_.now, env_.settings.operation_timeout));
    servers_.submit(q, hash_slot);
}

void questions::end(question& q, error_code ec) {
    env_.timers.cancel(q.patience);
    done_.complete(q, ec);
    pool_.free(q);
}

void questions::give_up(question& q, error_code why) {
    q.result = nullptr;
    env_.timers.cancel(q.patience);
    done_.complete(q, why);
    if (q.where == wire::call::state::waiting) {
        servers_.withdraw(q);
        pool_.free(q);
    } else {
        q.abandon();
    }
}

void questions::give_up_all(error_code why, const wire::link* at) {
    for (auto next = all_.begin(); next != all_.end();) {
        auto& q = static_cast<question&>(*next++);
        if (!at || &link_of(q) == at) {
            q.pending_hook::unlink();
            give_up(q, why);
        }
    }
}

}  // namespace conch::lock
