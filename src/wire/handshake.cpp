// SPDX-License-Identifier: BSL-1.0
#include "wire/handshake.hpp"

#include "wire/server_error.hpp"

namespace conch::wire {
namespace {

constexpr std::size_t longest_id = 64;  // Redis' own have 40 characters

// Of an unknown command the server repeats the arguments, and so the password.
std::string_view without_arguments(std::string_view words) noexcept {
    return words.substr(0, words.find(", with args"));
}

// The rest of the line that begins with `label`.
std::string_view find_line(std::string_view text, std::string_view label) noexcept {
    for (std::size_t at = 0; (at = text.find(label, at)) != text.npos; at += label.size()) {
        if (at == 0 || text[at - 1] == '\n') {
            const std::size_t begin = at + label.size();
            return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
        }
    }
    return {};
}

// Some ids are kept: of a longer one nothing is believed.
std::string_view find_id(std::string_view text, std::string_view label) noexcept {
    const std::string_view id = find_line(text, label);
    return id.size() <= longest_id ? id : std::string_view{};
}

}  // namespace

const call_type handshake::type{
    .name = "greeting",
    .after_loss = retry::never,
    .order = priority::greeting,
    .encode = &handshake::encode,
    .done = &handshake::done,
};

handshake::greeting::greeting() noexcept : call{handshake::type} {}

handshake::handshake(const config& settings, role expected, void* owner, function on_done) noexcept
    : settings_{settings},
      expected_{expected},
      user_{settings.username, settings.password},
      owner_{owner},
      done_{on_done} {}

void handshake::start(pipeline& p) {
    begun_ = ended_ = 0;
    failure_ = {};
    for_good_ = false;
    words_.clear();
    client_id_ = 0;
    run_id_.clear();
    replication_id_.clear();
    add(p, step::hello);
    if (expected_ == role::sentinel || expected_ == role::discovery) {
        return;
    }
    if (settings_.database != 0) {
        add(p, step::select);
    }
    add(p, step::replication);
    add(p, step::server);
    for (std::size_t i = 0; i < preloaded_scripts; ++i) {
        add(p, step::load, static_cast<script_id>(i));
    }
}

void handshake::add(pipeline& p, step what, script_id script) {
    greeting& g = steps_[begun_++];
    g.home = this;
    g.what = what;
    g.script = script;
    p.submit(g);
}

void handshake::encode(call& c, resp::writer& w) {
    const auto& g = static_cast<const greeting&>(c);
    const config& s = g.home->settings_;
    switch (g.what) {
        case step::hello: {
            const credentials& user = g.home->user_;
            const bool secret = !user.password.empty();
            w.command((secret ? 5u : 2u) + (s.client_name.empty() ? 0u : 2u)).arg("HELLO").arg(3);
            if (secret) {
                w.arg("AUTH").arg(user.username.empty() ? "default" : user.username);
                w.arg(user.password);
            }
            if (!s.client_name.empty()) {
                w.arg("SETNAME").arg(s.client_name);
            }
            return;
        }
        case step::select: w.command(2).arg("SELECT").arg(s.database); return;
        case step::replication: w.command(2).arg("INFO").arg("replication"); return;
        case step::server: w.command(2).arg("INFO").arg("server"); return;
        case step::load:
            w.command(3).arg("SCRIPT").arg("LOAD").arg(get_script(g.script).body);
            return;
    }
}

void handshake::done(call& c, const outcome& o) {
    const auto& g = static_cast<const greeting&>(c);
    handshake& self = *g.home;
    if (o.lost()) {
        return;
    }
    ++self.ended_;
    if (self.failure_ != errc{}) {
        return;
    }
    self.answer(g, o);
    if (self.failure_ != errc{} || self.ended_ == self.begun_) {
        self.done_(self.owner_);
    }
}

void handshake::answer(const greeting& g, const outcome& o) {
    switch (g.what) {
        case step::hello: {
            if (o.refused()) {
                const errc why = to_errc(o.reply.text());
                fail(why, without_arguments(o.reply.text()),
                     why != errc::server_error && why != errc::server_unavailable);
                return;
            }
            const resp::value version = o.reply.find("proto");
            if (!version.is_integer() || version.integer() != 3) {
                fail(errc::server_too_old, "HELLO 3 was not answered with protocol 3", true);
                return;
            }
            client_id_ = o.reply.find("id").integer();
            return;
        }
        case step::select:
            if (o.refused()) {
                const errc why = to_errc(o.reply.text());
                fail(why, o.reply.text(), why != errc::server_unavailable);
            }
            return;
        case step::replication:
            if (o.answered()) {
                replication_id_ = find_id(o.reply.text(), "master_replid:");
                judge_role(find_line(o.reply.text(), "role:"));
            }
            return;
        case step::server:
            if (o.answered()) {
                run_id_ = find_id(o.reply.text(), "run_id:");
            }
            return;
        case step::load: return;
    }
}

void handshake::judge_role(std::string_view is) {
    if (expected_ != role::master) {
        return;
    }
    if (is.empty()) {
        fail(errc::protocol_error, "INFO replication was not answered with a role", false);
    } else if (is != "master") {
        fail(errc::read_only, "the server is no master but a " + std::string{is}, false);
    }
}

void handshake::fail(errc why, std::string_view words, bool for_good) {
    failure_ = why;
    for_good_ = for_good;
    words_ = words;
}

}  // namespace conch::wire
