// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_CLIENT_CORE_HPP
#define CONCH_SRC_DRIVER_CLIENT_CORE_HPP

#include "driver/address_turns.hpp"
#include "driver/engine_report.hpp"
#include "driver/name_lookup.hpp"
#include "driver/strand_core.hpp"
#include "driver/stream.hpp"
#include "driver/tls.hpp"
#include "engine/engine.hpp"

#include <conch/config.hpp>
#include <conch/impl/operation.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conch::impl {

/// One client at work: runs the engine on its strand, with its sockets.
class client_core final : public strand_core {
public:
    /// `settings` must have been checked.
    client_core(boost::asio::any_io_executor executor, config settings, std::string_view id,
                std::uint64_t seed);
    ~client_core();

    // From any thread.

    /// The client's handle is gone: shut down in the background.
    void abandon() noexcept;
    const config& settings() const noexcept override { return settings_; }
    observer* told() const noexcept override { return settings_.observer.get(); }
    std::string servers() const override { return settings_.url(); }
    const std::string& id() const noexcept { return id_; }
    const engine_report& report() const noexcept { return report_; }

    void context_gone() noexcept override;
    void leave_to_parent() noexcept override;

    // From an operation that begins, on the strand.

    engine::lock_engine& engine() noexcept { return engine_; }
    /// The operation ends when the client has shut down.
    void shut_down(operation& op);

    // From the stream, on the strand.

    const boost::asio::any_io_executor& io_executor() const noexcept { return own_executor(); }
    std::span<char> input_space(const stream& s, std::size_t n) {
        return engine_.input(s.place()).prepare(n);
    }
    /// As `name_lookups::start`.
    std::shared_ptr<const name_lookup> look_up(const std::string& host) {
        return lookups_.start(host);
    }
    void on_connected(stream& s);
    void on_read(stream& s, std::size_t n);
    void on_written(stream& s);
    /// `words`: what to say of it; empty: the code's own. `lasting`: it will fail again so.
    void on_broken(stream& s, error_code why, std::string_view words = {}, errc lasting = {});

private:
    /// The connection of one link of the engine, or the attempt to make it.
    struct connection {
        std::shared_ptr<stream> at{};
        bool ready = false;
        bool reading = false;  ///< a read is on its way
        bool good = false;     ///< the server was greeted
        bool broken = false;   ///< not by this side
        wire::address to{};
    };

    void woken(bool asked) override;
    void on_time() override;
    void begin(operation& op) override;
    void cancel_running(operation& op) override;
    void asked_of(hold_view& view, hold_request what) override;

    bool asks_behind();
    void begin_turn();
    void end_turn();
    /// Called again, it may only shorten the time that holders have.
    void begin_shutdown(duration drain);
    void end_shutdown();
    void deliver();
    void tend_connections();
    bool ask_credentials(std::size_t place);
    void write();
    void arm_timer();
    void read();
    void come_back();
    /// It is the one of its link.
    bool is_current(const stream& s) const noexcept {
        return connections_[s.place()].at.get() == &s;
    }
    bool is_wanted(const stream& s) const noexcept;
    static void on_back(event& e);
    void discard() noexcept;

    const std::string id_;
    const config settings_;
    const std::unique_ptr<tls> tls_;  // none: not wanted
    engine::lock_engine engine_;
    time_point now_{};
    std::vector<connection> connections_;
    address_turns turns_{};
    name_lookups lookups_{};
    bool coming_back_ = false;  // on_back() is
    bool was_asked_ = false;    // of something, when it was woken last
    bool delivered_ = false;    // something, in this turn
    bool read_later_ = false;   // when it is woken
    bool put_off_ = false;      // the last turn left its write to the next
    bool closed_ = false;
    bool shutting_down_ = false;
    time_point shutdown_by_ = time_point::max();
    std::vector<operation*> shutdowns_{};
    core_event back_{*this, &client_core::on_back};
    handler_memory back_memory_{};
    engine_report report_{};
};

}  // namespace conch::impl

#endif
