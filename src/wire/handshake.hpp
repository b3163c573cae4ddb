// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_HANDSHAKE_HPP
#define CONCH_SRC_WIRE_HANDSHAKE_HPP

#include "wire/address.hpp"
#include "wire/pipeline.hpp"

#include <conch/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace conch::wire {

/// What a connection begins with, in one write: HELLO 3 with AUTH and SETNAME, SELECT, INFO
/// replication (for the role and the replication id), INFO server (for the run id), SCRIPT LOAD of
/// each script; HELLO alone before a sentinel, or a node that is only asked for masters. A script
/// that can't be loaded, or an INFO that this user may not ask for, is no failure: scripts are then
/// sent when they are missed, the old connection is not fenced, and the server is taken for a
/// master, and for another one than before.
class handshake {
public:
    /// Calls `on_done(owner)` once all is answered, or one step failed.
    using function = void (*)(void* owner);

    handshake(const config& settings, role expected, void* owner, function on_done) noexcept;

    /// From the next start on; without it, as the settings say.
    void log_in_as(credentials c) { user_ = std::move(c); }
    void start(pipeline& p);

    /// `errc{}` if the connection may be used.
    errc failure() const noexcept { return failure_; }
    /// Another connection would fail in the same way.
    bool failed_for_good() const noexcept { return for_good_; }
    /// The server's words on the failure.
    const std::string& words() const noexcept { return words_; }
    /// The connection's id at the server.
    std::int64_t client_id() const noexcept { return client_id_; }
    /// Which process the server is; empty if it would not tell.
    const std::string& run_id() const noexcept { return run_id_; }
    /// Which history its data have: another one once it has been a replica, was started again, or
    /// got its first replica. Empty if it would not tell.
    const std::string& replication_id() const noexcept { return replication_id_; }

private:
    enum class step : std::uint8_t { hello, select, replication, server, load };

    struct greeting : call {
        greeting() noexcept;
        handshake* home = nullptr;
        step what{};
        script_id script{};
    };

    static void encode(call& c, resp::writer& w);
    static void done(call& c, const outcome& o);
    static const call_type type;

    void add(pipeline& p, step what, script_id script = {});
    void answer(const greeting& g, const outcome& o);
    void judge_role(std::string_view is);
    void fail(errc why, std::string_view words, bool for_good);

    const config& settings_;
    const role expected_;
    credentials user_;
    void* owner_;
    function done_;
    std::array<greeting, 4 + preloaded_scripts> steps_{};
    std::size_t begun_ = 0;
    std::size_t ended_ = 0;
    errc failure_{};
    bool for_good_ = false;
    std::string words_{};
    std::int64_t client_id_ = 0;
    std::string run_id_{};
    std::string replication_id_{};
};

}  // namespace conch::wire

#endif
