// SPDX-License-Identifier: BSL-1.0
#include "sim/redis/lua_host.hpp"

#include "sim/fake_redis.hpp"
#include "sim/redis/lua_values.hpp"
#include "support/sha1.hpp"

#include <lua.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace conch::sim {
namespace {

int no_such_global(lua_State* l) {
    return luaL_error(l, "Script attempted to access nonexistent global variable '%s'",
                      lua_tostring(l, 2));
}

int no_new_global(lua_State* l) { return luaL_error(l, "Attempt to modify a readonly table"); }

int status_reply(lua_State* l) { return push_marked(l, "ok", luaL_checkstring(l, 1)); }

int error_reply(lua_State* l) {
    const std::string words = luaL_checkstring(l, 1);
    // The first word is the code; Redis puts one in front where there is none.
    return push_marked(l, "err", words.starts_with("-") ? words.substr(1) : words);
}

int sha1hex(lua_State* l) {
    std::size_t n = 0;
    const char* text = luaL_checklstring(l, 1, &n);
    lua_pushstring(l, test::sha1_of({text, n}).c_str());
    return 1;
}

void push_globals(lua_State* l) {
#if LUA_VERSION_NUM >= 502
    lua_pushglobaltable(l);
#else
    lua_pushvalue(l, LUA_GLOBALSINDEX);
#endif
}

void set_global(lua_State* l, const char* name, arguments items) {
    push_globals(l);
    lua_pushstring(l, name);
    lua_createtable(l, static_cast<int>(items.size()), 0);
    for (std::size_t i = 0; i < items.size(); ++i) {
        lua_pushlstring(l, items[i].data(), items[i].size());
        lua_rawseti(l, -2, static_cast<int>(i) + 1);
    }
    lua_rawset(l, -3);
    lua_pop(l, 1);
}

}  // namespace

struct lua_host::running {
    fake_redis& server;
    session& by;
    arguments keys;
    bool wrote = false;
};

lua_host& lua_host::instance() {
    static lua_host host;
    return host;
}

lua_host::lua_host() : lua_{luaL_newstate()} {
    luaL_openlibs(lua_);
    lua_newtable(lua_);
    const luaL_Reg functions[] = {{"call", call},
                                  {"pcall", pcall},
                                  {"status_reply", status_reply},
                                  {"error_reply", error_reply},
                                  {"sha1hex", sha1hex}};
    for (const luaL_Reg& f : functions) {
        lua_pushlightuserdata(lua_, this);
        lua_pushcclosure(lua_, f.func, 1);
        lua_setfield(lua_, -2, f.name);
    }
    lua_setglobal(lua_, "redis");
    push_globals(lua_);
    lua_newtable(lua_);
    lua_pushcfunction(lua_, no_such_global);
    lua_setfield(lua_, -2, "__index");
    lua_pushcfunction(lua_, no_new_global);
    lua_setfield(lua_, -2, "__newindex");
    lua_setmetatable(lua_, -2);
    lua_pop(lua_, 1);
}

lua_host::~lua_host() { lua_close(lua_); }

int lua_host::compile(std::string_view sha, std::string_view body, std::string* problem) {
    if (luaL_loadbuffer(lua_, body.data(), body.size(), "@user_script") != 0) {
        *problem =
            "ERR Error compiling script (new function): " + std::string{lua_tostring(lua_, -1)};
        lua_pop(lua_, 1);
        return LUA_NOREF;
    }
    const int at = luaL_ref(lua_, LUA_REGISTRYINDEX);
    compiled_[std::string{sha}] = at;
    return at;
}

std::string lua_host::load(std::string_view body, std::string* problem) {
    const auto known = sha_by_body_.find(body);
    if (known != sha_by_body_.end()) {
        return known->second;
    }
    const std::string sha = test::sha1_of(body);
    if (compiled_.find(sha) == compiled_.end() && compile(sha, body, problem) == LUA_NOREF) {
        return {};
    }
    sha_by_body_[std::string{body}] = sha;
    return sha;
}

void lua_host::replace(std::string_view sha, std::string_view body) {
    std::string problem;
    compile(sha, body, &problem);
}

reply lua_host::run(fake_redis& server, session& by, std::string_view sha, arguments keys,
                    arguments args) {
    running now{server, by, keys};
    now_ = &now;
    calls_ = 0;
    server.count_script();
    set_global(lua_, "KEYS", keys);
    set_global(lua_, "ARGV", args);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, compiled_.find(sha)->second);
    const int failed = lua_pcall(lua_, 0, 1, 0);
    reply answer = failed != 0 ? problem_of(sha) : to_reply(lua_, -1);
    lua_pop(lua_, 1);
    now_ = nullptr;
    failing_call_ = none_fails;
    denied_.clear();
    return answer;
}

void lua_host::fail_call(std::size_t n, std::string words) {
    failing_call_ = n;
    failing_words_ = std::move(words);
}

// What redis.call() raised is a table with the words and the place; Lua itself raises text.
reply lua_host::problem_of(std::string_view sha) {
    const raised_error e = to_raised(lua_, -1);
    return reply::error(e.words + " script: " + std::string{sha} + ", on " + e.place + ".");
}

int lua_host::call(lua_State* l) { return command_from_script(l, true); }
int lua_host::pcall(lua_State* l) { return command_from_script(l, false); }

int lua_host::command_from_script(lua_State* l, bool raise) {
    auto* const self = static_cast<lua_host*>(lua_touserdata(l, lua_upvalueindex(1)));
    running& now = *self->now_;
    bool failed = false;
    {
        // Nothing with a destructor may be alive when Lua raises an error.
        reply answer;
        std::vector<std::string_view> words;
        std::vector<std::string> numbers;
        if (self->calls_++ == self->failing_call_) {
            answer = reply::error(self->failing_words_);
        } else if (!take_words(l, words, numbers)) {
            answer =
                reply::error("ERR Lua redis lib command arguments must be strings or integers");
        } else if (std::find(self->denied_.begin(), self->denied_.end(), words[0]) !=
                   self->denied_.end()) {
            answer = reply::error("NOPERM this user has no permissions to run this command");
        } else {
            const command* c = find_command(words[0]);
            if (!c) {
                answer = reply::error("ERR Unknown Redis command called from script");
            } else if (!c->takes(words.size())) {
                answer = reply::error("ERR Wrong number of args calling Redis command from script");
            } else if ((c->flags & command::not_in_scripts) != 0) {
                answer = reply::error("ERR This Redis command is not allowed from script");
            } else if (!is_declared(*c, words, now.keys)) {
                answer = reply::error("ERR script tried accessing undeclared key");
            } else if (const std::string* no = now.server.refused(*c, true, now.wrote)) {
                answer = reply::error(*no);
            } else if (now.server.sent_on(now.by, *c, words)) {
                answer = reply::error(
                    "ERR Script attempted to access a non local key in a cluster node");
            } else {
                answer = c->run(now.server, now.by, words);
                now.wrote |= (c->flags & command::writes) != 0 && !answer.is_error();
            }
        }
        failed = answer.is_error();
        push_reply(l, answer);
        if (failed) {
            add_place(l);
        }
    }
    return failed && raise ? lua_error(l) : 1;
}

}  // namespace conch::sim
