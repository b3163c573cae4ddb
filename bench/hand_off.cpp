// SPDX-License-Identifier: BSL-1.0
#include "hand_off.hpp"

#include "greeting.hpp"
#include "raw_command.hpp"
#include "reply_counter.hpp"
#include "socket.hpp"

#include <conch/conch.hpp>

#include <unistd.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace conch::bench {
namespace {

using kind = pass_order::kind;

const std::string lock_name = std::string{tag} + ":hand-off";

/// One process, through conch.
class conch_player {
public:
    conch_player(const config& server, bool fair, pass_log& log, std::size_t me, wire_end& other)
        : log_{log},
          me_{me},
          times_{me},
          client_{loop_.context(), server},
          lock_{fair ? fair_mutex{client_, lock_name} : mutex{client_, lock_name}},
          other_{loop_.context(), asio::local::stream_protocol{}, ::dup(other.descriptor())} {}

    void run(const pass_order& o) {
        if (o.what == kind::begin) {
            return;
        }
        loop_.spawn(o.what == kind::take ? take() : play(o));
        loop_.run_spawned();
    }

private:
    asio::awaitable<void> take() { hold_ = co_await lock_.async_lock(); }

    asio::awaitable<void> play(pass_order o) {
        for (std::size_t i = 0; i < o.count; ++i) {
            pass& p = log_.passes[i];
            if (i % 2 == me_) {
                pause_.expires_after(times_.next(o.shortest_hold));
                co_await pause_.async_wait(asio::deferred);
                p.unlocked = steady::now();
                co_await hold_.async_unlock();
                bell rung;
                co_await asio::async_read(other_, asio::buffer(&rung, sizeof rung), asio::deferred);
            } else {
                const std::uint64_t before = client_.stats().wakes_by_message;
                hold_ = co_await lock_.async_lock();
                p.granted = steady::now();
                p.by_message = client_.stats().wakes_by_message > before;
                const bell rung = true;
                co_await asio::async_write(other_, asio::buffer(&rung, sizeof rung),
                                           asio::deferred);
            }
        }
        if (hold_.owns_lock() && o.count % 2 == me_) {
            co_await hold_.async_unlock();
        }
    }

    pass_log& log_;
    std::size_t me_;
    hold_times times_;
    event_loop loop_;
    client client_;
    mutex lock_;
    hold hold_;
    asio::local::stream_protocol::socket other_;
    asio::steady_timer pause_{loop_.context()};
};

/// One process, by hand.
class raw_player {
public:
    raw_player(const direct_access& to, bool fair, pass_log& log, std::size_t me, wire_end& other)
        : fair_{fair},
          log_{log},
          me_{me},
          times_{me},
          other_{other},
          commands_{to.home},
          messages_{to.home},
          buffer_(4096) {
        greet(commands_, to.home);
        greet(messages_, to.home);
        std::string subscribe;
        append_command(subscribe, {to.sharded ? "SSUBSCRIBE" : "SUBSCRIBE", channel(me)});
        messages_.send(subscribe);
        messages_.receive(buffer_);
        if (fair) {
            append_stand_in_line(acquire_, name(), field_of(me));
            append_pass_on(release_, name(), field_of(me), to.sharded);
        } else {
            append_acquire(acquire_, name(), field_of(me));
            append_release(release_, name(), field_of(me), channel(1 - me), to.sharded);
        }
    }

    void run(const pass_order& o) {
        if (o.what == kind::take) {
            ask(acquire_);
        }
        if (o.what != kind::play) {
            return;
        }
        for (std::size_t i = 0; i < o.count; ++i) {
            pass& p = log_.passes[i];
            if (i % 2 == me_) {
                std::this_thread::sleep_for(times_.next(o.shortest_hold));
                p.unlocked = steady::now();
                ask(release_);
                (void)other_.receive<bell>();
            } else {
                fair_ ? get_in_line(p) : get(p);
                other_.send(bell{true});
            }
        }
        if (o.count % 2 == me_) {
            ask(release_);
        } else if (!fair_) {
            messages_.receive(buffer_);  // of the last release
        }
    }

private:
    static std::string name() { return std::string{tag} + ":raw-hand-off"; }

    // Each has its own, so that nobody is told of its own release.
    std::string channel(std::size_t of) const {
        return channel_of(name()) + (fair_ ? ':' + field_of(of) : std::to_string(of));
    }

    void get(pass& p) {
        messages_.receive(buffer_);
        p.told = steady::now();
        ask(acquire_);
        p.granted = steady::now();
        p.by_message = true;
    }

    // Its releaser looks first whether anybody hears.
    void get_in_line(pass& p) {
        p.by_message = ask(acquire_) == ':';
        std::string heard;
        while (p.by_message && heard.find("0:30000:1") == heard.npos) {
            heard.append(buffer_.data(), messages_.receive(buffer_));
        }
        p.told = p.granted = steady::now();
    }

    /// Returns what the answer begins with.
    char ask(std::string_view command) {
        commands_.send(command);
        if (fair_) {
            commands_.receive(buffer_);
            if (buffer_.front() == '-') {
                throw std::runtime_error{std::string{buffer_.data(), buffer_.size()}};
            }
            return buffer_.front();
        }
        for (std::size_t replies = 0; replies == 0;) {
            const std::size_t n = commands_.receive(buffer_);
            replies = replies_.feed({buffer_.data(), n});
        }
        return buffer_.front();
    }

    const bool fair_;
    pass_log& log_;
    std::size_t me_;
    hold_times times_;
    wire_end& other_;
    socket commands_;
    socket messages_;
    reply_counter replies_{1};
    std::string acquire_;
    std::string release_;
    std::vector<char> buffer_;
};

template <typename Player>
void obey(Player& player, wire_end& parent) {
    while (parent.wait_for_more()) {
        player.run(parent.receive<pass_order>());
        parent.send(true);
    }
}

}  // namespace

void pass_through_conch(const config& server, bool fair, pass_log& log, std::size_t me,
                        wire_end& parent, wire_end& other) {
    conch_player player{server, fair, log, me, other};
    obey(player, parent);
}

void pass_by_hand(const direct_access& to, bool fair, pass_log& log, std::size_t me,
                  wire_end& parent, wire_end& other) {
    raw_player player{to, fair, log, me, other};
    obey(player, parent);
}

}  // namespace conch::bench
