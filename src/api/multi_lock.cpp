// SPDX-License-Identifier: BSL-1.0
#include <conch/multi_lock.hpp>

#include "driver/group_core.hpp"
#include "protocol/lock_protocol.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace conch {
namespace {

bool are_same(const impl::group_member& a, const impl::group_member& b) {
    return a.core == b.core && a.spec->name() == b.spec->name();
}

void check_locks(const impl::group_core::member_list& all) {
    const auto need = [](bool good, const char* why) {
        if (!good) {
            throw std::invalid_argument{std::string{"conch::multi_lock: "} + why};
        }
    };
    need(!all.empty(), "there is no lock");
    need(all.size() <= multi_lock::max_locks, "there are more than 31 locks");
    for (const impl::group_member& m : all) {
        need(m.core != nullptr, "a lock has no client");
        need(!dynamic_cast<const impl::group_core*>(m.core.get()),
             "a quorum_mutex or a multi_lock can't be one of its locks");
        need(std::ranges::count_if(all, [&](const auto& other) { return are_same(m, other); }) == 1,
             "a lock is there twice");
    }
}

// What all contenders agree on: where two meet at several locks, they meet at the same one first.
void put_in_order(impl::group_core::member_list& all) {
    std::ranges::sort(all, {}, [](const impl::group_member& m) {
        return std::tuple{m.core->servers(), m.spec->name()};
    });
}

impl::spec_ptr spec_of(const impl::group_core::member_list& all) {
    std::string names;
    for (const impl::group_member& m : all) {
        names.append(names.empty() ? "" : ", ").append(m.spec->name());
    }
    names.resize(std::min(names.size(), impl::lock_spec::longest_name));
    return impl::lock_spec::make(protocol::mutex_protocol, names, {});
}

}  // namespace

multi_lock::multi_lock(std::span<const std::reference_wrapper<const mutex>> locks)
    : mutex{nullptr, nullptr} {
    impl::group_core::member_list all;
    all.reserve(locks.size());
    for (const mutex& m : locks) {
        all.push_back({m.core_, m.spec_});
    }
    check_locks(all);
    put_in_order(all);
    spec_ = spec_of(all);
    const impl::context_use use{all.front().core};
    const auto how =
        group::terms::every(all.size(), all.front().core->settings().operation_timeout);
    core_ = std::make_shared<impl::group_core>(std::move(all), how);
    static_assert(max_locks == group::most_members);
}

}  // namespace conch
