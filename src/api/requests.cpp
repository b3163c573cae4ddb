// SPDX-License-Identifier: BSL-1.0
// How each kind of operation begins: in the engine of a client, or in a group of locks.
#include "driver/client_core.hpp"
#include "driver/group_core.hpp"

#include <conch/impl/operation.hpp>

#include <utility>

namespace conch::impl {
namespace {

lock::caller caller_of(operation& op) noexcept { return {&op, &op.running}; }

void acquire(client_core& c, operation& op, bool try_only) {
    c.engine().acquire(op.spec, op.options.get(), try_only, caller_of(op), op.options.owner());
}

void ask_limit(client_core& c, operation& op, bool try_only) {
    auto& p = static_cast<permits_operation&>(op);
    c.engine().permits(p.limit, p.permits, p.options.amount(), try_only, caller_of(op), &p.verdict,
                       p.log_refusal);
}

void take_counted(client_core& c, operation& op, bool try_only) {
    auto& p = static_cast<count_operation&>(op);
    c.engine().acquire_permits(p.of, p.number, p.options.amount(), try_only, caller_of(op));
}

void change_counted(client_core& c, operation& op, lock::counter_change::kind what) {
    auto& p = static_cast<count_operation&>(op);
    c.engine().change_permits(p.of, what, p.number, caller_of(op), &p.number);
}

void acquire_in_group(group_core& c, operation& op, bool try_only) {
    c.group().acquire(op.options.get(), try_only, &op, op.options.owner());
}

}  // namespace

constinit const request request::lock{
    .begin = [](client_core& c, operation& op) { acquire(c, op, false); },
    .begin_in_group = [](group_core& c, operation& op) { acquire_in_group(c, op, false); },
};

constinit const request request::try_lock{
    .begin = [](client_core& c, operation& op) { acquire(c, op, true); },
    .begin_in_group = [](group_core& c, operation& op) { acquire_in_group(c, op, true); },
};

constinit const request request::unlock{
    .begin =
        [](client_core& c, operation& op) {
            c.engine().unlock(std::exchange(op.view, nullptr), caller_of(op));
        },
    .begin_in_group = [](group_core& c,
                         operation& op) { c.group().unlock(std::exchange(op.view, nullptr), &op); },
};

constinit const request request::leave{
    .begin =
        [](client_core& c, operation& op) {
            c.engine().leave(std::exchange(op.view, nullptr), op.options.amount(), caller_of(op));
        },
    .begin_in_group =
        [](group_core& c, operation& op) {
            c.group().leave(std::exchange(op.view, nullptr), op.options.amount(), &op);
        },
};

constinit const request request::extend{
    .begin =
        [](client_core& c, operation& op) {
            c.engine().extend(std::exchange(op.view, nullptr), op.options.amount(), caller_of(op));
        },
    .begin_in_group =
        [](group_core& c, operation& op) {
            c.group().extend(std::exchange(op.view, nullptr), op.options.amount(), &op);
        },
};

constinit const request request::downgrade{
    .begin =
        [](client_core& c, operation& op) {
            c.engine().downgrade(std::exchange(op.view, nullptr), caller_of(op));
        },
    .begin_in_group =
        [](group_core& c, operation& op) {
            c.group().downgrade(std::exchange(op.view, nullptr), &op);
        },
};

constinit const request request::wait_lost{
    .begin =
        [](client_core& c, operation& op) {
            c.engine().wait_lost(std::exchange(op.view, nullptr), op.options.amount(),
                                 caller_of(op));
        },
    .begin_in_group =
        [](group_core& c, operation& op) {
            c.group().wait_lost(std::exchange(op.view, nullptr), op.options.amount(), &op);
        },
};

constinit const request request::status{
    .begin =
        [](client_core& c, operation& op) {
            c.engine().status(op.spec, op.options.status(), caller_of(op),
                              &static_cast<status_operation&>(op).status);
        },
    .begin_in_group =
        [](group_core& c, operation& op) {
            c.group().status(op.options.status(), &op, &static_cast<status_operation&>(op).status);
        },
};

constinit const request request::watch{
    .begin =
        [](client_core& c, operation& op) {
            c.engine().watch(op.spec, op.options.status(), caller_of(op),
                             &static_cast<status_operation&>(op).status);
        },
};

constinit const request request::force_unlock{
    .begin = [](client_core& c, operation& op) { c.engine().force_unlock(op.spec, caller_of(op)); },
    .begin_in_group = [](group_core& c, operation& op) { c.group().force_unlock(&op); },
};

constinit const request request::permits{
    .begin = [](client_core& c, operation& op) { ask_limit(c, op, false); },
};

constinit const request request::try_permits{
    .begin = [](client_core& c, operation& op) { ask_limit(c, op, true); },
};

constinit const request request::acquire_counted{
    .begin = [](client_core& c, operation& op) { take_counted(c, op, false); },
};

constinit const request request::try_acquire_counted{
    .begin = [](client_core& c, operation& op) { take_counted(c, op, true); },
};

constinit const request request::add_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::add); },
};

constinit const request request::set_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::set); },
};

constinit const request request::try_set_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::try_set); },
};

constinit const request request::drain_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::drain); },
};

constinit const request request::arm_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::arm); },
};

constinit const request request::count_down_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::count_down); },
};

constinit const request request::look_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::look); },
};

constinit const request request::look_out_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::look_out); },
};

constinit const request request::look_total_counted{
    .begin = [](client_core& c,
                operation& op) { change_counted(c, op, lock::counter_change::kind::look_total); },
};

constinit const request request::ask{
    .begin =
        [](client_core& c, operation& op) {
            auto& q = static_cast<question_operation&>(op);
            c.engine().ask(std::move(q.command), q.hash_slot, caller_of(op), &q.reply);
        },
};

constinit const request request::note{
    .begin =
        [](client_core& c, operation& op) {
            auto& n = static_cast<note_operation&>(op);
            c.engine().note(std::exchange(n.view, nullptr), n.spec, n.note, caller_of(n),
                            &n.answer);
        },
};

constinit const request request::shutdown{
    .begin = [](client_core& c, operation& op) { c.shut_down(op); },
};

}  // namespace conch::impl
