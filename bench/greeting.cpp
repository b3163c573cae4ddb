// SPDX-License-Identifier: BSL-1.0
#include "greeting.hpp"

#include "raw_command.hpp"
#include "wire/script.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

namespace conch::bench {

using wire::get_script;
using wire::script_id;

std::string greeting(const config& server) {
    std::string out;
    if (server.password.empty()) {
        append_command(out, {"HELLO", "3"});
    } else {
        const std::string user = server.username.empty() ? "default" : server.username;
        append_command(out, {"HELLO", "3", "AUTH", user, server.password});
    }
    if (server.database != 0) {
        append_command(out, {"SELECT", std::to_string(server.database)});
    }
    for (const script_id id : {script_id::acquire, script_id::release, script_id::renew}) {
        append_command(out, {"SCRIPT", "LOAD", get_script(id).body});
    }
    append_command(out, {"ECHO", greeting_end});
    return out;
}

void greet(socket& s, const config& server) {
    s.send(greeting(server));
    const std::string last = std::string{greeting_end} + "\r\n";
    std::array<char, 4096> buffer;
    std::string answer = "\n";
    while (!answer.ends_with(last)) {
        answer.append(buffer.data(), s.receive(buffer));
    }
    if (const auto error = answer.find("\n-"); error != std::string::npos) {
        throw std::runtime_error{"the server refused: " +
                                 answer.substr(error + 2, answer.find('\r', error) - error - 2)};
    }
}

}  // namespace conch::bench
