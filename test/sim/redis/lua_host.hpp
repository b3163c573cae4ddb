// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDIS_LUA_HOST_HPP
#define CONCH_TEST_SIM_REDIS_LUA_HOST_HPP

#include "sim/redis/command.hpp"
#include "sim/redis/keyspace.hpp"
#include "sim/redis/reply.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct lua_State;

namespace conch::sim {

/// Lua as Redis runs it: one state for all servers of a process, since a script leaves nothing
/// behind in it; compiled scripts are kept.
class lua_host {
public:
    static lua_host& instance();

    lua_host(const lua_host&) = delete;
    lua_host& operator=(const lua_host&) = delete;
    ~lua_host();

    /// The SHA1 of the script, in lower-case hexadecimal; compiles it. With `problem`: the words of
    /// an error if it can't be compiled.
    std::string load(std::string_view body, std::string* problem);
    /// Runs a script that was loaded once, by any server.
    reply run(fake_redis& server, session& by, std::string_view sha, arguments keys,
              arguments args);

    /// From now on `run` runs this text instead of the script of that SHA1: a mutant.
    void replace(std::string_view sha, std::string_view body);

    /// The script that runs next: its redis.call() or redis.pcall() number `n`, from 0 on, fails
    /// with these words.
    void fail_call(std::size_t n, std::string words);
    /// The script that runs next: it has no right to call these commands.
    void deny_commands(std::vector<std::string> names) { denied_ = std::move(names); }
    /// How many calls the last script made.
    std::size_t calls() const noexcept { return calls_; }

private:
    struct running;

    static constexpr std::size_t none_fails = static_cast<std::size_t>(-1);

    lua_host();
    static int call(lua_State* l);
    static int pcall(lua_State* l);
    static int command_from_script(lua_State* l, bool raise);
    int compile(std::string_view sha, std::string_view body, std::string* problem);
    reply problem_of(std::string_view sha);

    lua_State* lua_;
    text_map<std::string> sha_by_body_{};
    text_map<int> compiled_{};
    running* now_ = nullptr;
    std::size_t calls_ = 0;
    std::size_t failing_call_ = none_fails;
    std::string failing_words_{};
    std::vector<std::string> denied_{};
};

}  // namespace conch::sim

#endif
