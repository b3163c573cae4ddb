// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_OLD_CONNECTIONS_HPP
#define CONCH_SRC_WIRE_OLD_CONNECTIONS_HPP

#include "core/log.hpp"
#include "wire/address.hpp"
#include "wire/pipeline.hpp"

#include <cstdint>
#include <list>
#include <string>
#include <utility>

namespace conch::wire {

/// Connections that broke while they were ready. The server may still read commands of ours from
/// their buffers, and run them, until it is told to end them.
class old_connections {
public:
    /// `ended`: counts those that the server was made to end.
    old_connections(pipeline& p, const core::log& log, std::uint64_t& ended) noexcept
        : pipeline_{p}, log_{log}, ended_{ended} {}

    /// What the server process `run_id`, which was at `at`, knew as `client_id`, broke at
    /// `lost_at`.
    void add(time_point lost_at, std::int64_t client_id, std::string run_id, address at);
    /// A new connection reached the process `run_id` at `at`: the first it is told is to end the
    /// old ones.
    void fence(const std::string& run_id, const address& at);
    /// One that broke between these may still run what was written on it.
    bool may_still_run(time_point first, time_point last) const noexcept;

private:
    static constexpr std::size_t most = 64;

    struct one : call {
        one(old_connections& all, time_point t, std::int64_t id, std::string run, address a)
            : call{kill_type},
              home{all},
              lost_at{t},
              client_id{id},
              run_id{std::move(run)},
              at{std::move(a)} {}
        old_connections& home;
        time_point lost_at;
        std::int64_t client_id;
        std::string run_id;
        address at;
    };

    static void encode_kill(call& c, resp::writer& w);
    static void kill_done(call& c, const outcome& o);
    static const call_type kill_type;

    pipeline& pipeline_;
    const core::log& log_;
    std::uint64_t& ended_;
    std::list<one> known_{};
    time_point forgotten_ = time_point::min();  // no longer known: those that broke up to then
};

}  // namespace conch::wire

#endif
