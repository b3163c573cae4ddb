// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_SCRIPTS_PLAYER_HPP
#define CONCH_TEST_SIM_SCRIPTS_PLAYER_HPP

#include "resp/writer.hpp"
#include "sim/fake_redis.hpp"
#include "wire/script.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::sim::test {

using words = std::vector<std::string>;

// Two fields of one client, and some leases.
inline const std::string mine = "5c1e0a8e-0000-4000-8000-000000000001:1";
inline const std::string other = "5c1e0a8e-0000-4000-8000-000000000001:2";
inline const std::string half_a_minute = "30000";
inline const std::string one_minute = "60000";
inline const std::string one_hour = "3600000";

inline words call_of(wire::script_id id, const words& keys, const words& args) {
    words w{"EVALSHA", std::string{wire::get_script(id).sha1}, std::to_string(keys.size())};
    w.insert(w.end(), keys.begin(), keys.end());
    w.insert(w.end(), args.begin(), args.end());
    return w;
}

/// A fake server that knows every script, and one connection to it.
class script_player {
public:
    explicit script_player(const fake_redis::settings& how = {}) : server{how} {
        for (std::size_t i = 0; i < wire::script_count; ++i) {
            const wire::script& s = wire::get_script(static_cast<wire::script_id>(i));
            ask({"SCRIPT", "LOAD", std::string{s.body}});
        }
    }

    std::string ask(const words& command) {
        std::string bytes;
        {
            resp::writer w{bytes};
            w.command(command.size());
            for (const std::string& word : command) {
                w.arg(word);
            }
        }
        server.receive(me, bytes, now_us);
        return server.take_output(me);
    }

    std::int64_t now_us = 1'700'000'000'000'000;
    fake_redis server;
    fake_redis::connection me = server.connect();
};

}  // namespace conch::sim::test

#endif
