// SPDX-License-Identifier: BSL-1.0
#include "comeback.hpp"

#include "connection.hpp"
#include "hold/renewal.hpp"
#include "hold_keeper.hpp"
#include "name_waiters.hpp"
#include "raw_command.hpp"
#include "raw_names.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace conch::bench {
namespace {

using namespace std::chrono_literals;

/// So long that no renewal falls due.
constexpr std::chrono::minutes lease{60};
constexpr const char* lease_ms = "3600000";

config patient(config server, const char* client_name) {
    server.client_name = client_name;
    server.operation_timeout = 1min;
    server.max_poll_interval = 1h;
    return server;
}

void await_loss(event_loop& loop, const client& redis, std::uint64_t losses_before) {
    loop.run_until([&] { return redis.stats().connection_losses > losses_before; });
}

/// Says that it is watchful, then `come_back()`, for each order.
template <typename ComeBack>
void obey(wire_end& parent, ComeBack come_back) {
    parent.send(true);
    while (parent.wait_for_more()) {
        (void)parent.receive<bool>();
        parent.send(come_back());
    }
}

/// As conch does it, but without waiting longer than it must.
class raw_comeback {
public:
    raw_comeback(const config& server, std::size_t count)
        : server_{server}, names_{"conch-bench:raw-back:", count, count, lease_ms} {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; ++i) {
            names.push_back("conch-bench:raw-back:" + std::to_string(i));
        }
        for (std::size_t from = 0; from < count; from += lock::renewal::most) {
            const std::size_t to = std::min<std::size_t>(count, from + lock::renewal::most);
            append_renewal(renewals_, {names.data() + from, to - from}, from, lease_ms);
            ++renewal_count_;
        }
        const raw_names held{"conch-bench:raw-back:", count, 0, lease_ms};
        release_ = held.releases;
        append_acquire(probe_, probe_name, field_of(0));
        append_release(probe_, probe_name, field_of(0), channel_of(probe_name));
        connect();
        connection_->pipeline(held.acquires, count);
        connection_->pipeline(names_.subscriptions, 2 * count);
    }

    ~raw_comeback() {
        try {
            connection_->pipeline(release_, names_.count);
        } catch (const std::exception&) {  // their leases end them
        }
    }

    comeback run() {
        try {
            connection_->receive();
        } catch (const std::exception&) {  // the loss
        }
        connect();
        comeback out;
        connection_->pipeline(probe_, 2);
        out.first_grant = steady::now();
        connection_->pipeline(renewals_, renewal_count_);
        connection_->pipeline(names_.subscriptions, 2 * names_.count);
        out.whole = steady::now();
        return out;
    }

private:
    static constexpr const char* probe_name = "conch-bench:raw-probe";

    void connect() {
        for (;;) {
            try {
                connection_.emplace(server_);
                connection_->command({"CLIENT", "SETNAME", raw_name});
                return;
            } catch (const std::exception&) {  // not there yet, or still loading
                std::this_thread::sleep_for(1ms);
            }
        }
    }

    config server_;
    raw_names names_;
    std::string renewals_;
    std::size_t renewal_count_ = 0;
    std::string release_;
    std::string probe_;
    std::optional<connection> connection_;
};

}  // namespace

void hold_through(const config& server, std::size_t count, wire_end& parent) {
    event_loop loop;
    hold_keeper keeper{loop, patient(server, holder_name), "conch-bench:back:", count, lease};
    mutex probe{keeper.redis(), "conch-bench:probe"};
    keeper.take_all();
    obey(parent, [&] {
        const stats before = keeper.redis().stats();
        parent.send(true);
        await_loss(loop, keeper.redis(), before.connection_losses);
        comeback out;
        probe.async_lock([&](error_code ec, hold) {
            if (ec) {
                throw std::runtime_error{ec.message()};
            }
            out.first_grant = steady::now();
        });
        loop.run_until([&] {
            return keeper.redis().stats().renewals - before.renewals >= count &&
                   out.first_grant != steady::time_point{};
        });
        out.whole = steady::now();
        for (const hold& h : keeper.holds()) {
            out.lost += h.owns_lock() ? 0 : 1;
        }
        return out;
    });
    keeper.release_all();
}

void wait_through(const config& server, std::size_t count, wire_end& parent) {
    event_loop loop;
    name_waiters waiters{loop, patient(server, waiter_name), "conch-bench:back:", count};
    waiters.park_all();
    obey(parent, [&] {
        const stats before = waiters.redis().stats();
        parent.send(true);
        await_loss(loop, waiters.redis(), before.connection_losses);
        loop.run_until([&] { return waiters.redis().stats().busy - before.busy >= count; });
        return comeback{.first_grant = {}, .whole = steady::now(), .lost = waiters.granted()};
    });
}

void come_back_by_hand(const config& server, std::size_t count, wire_end& parent) {
    raw_comeback raw{server, count};
    obey(parent, [&] {
        parent.send(true);
        return raw.run();
    });
}

}  // namespace conch::bench
