// SPDX-License-Identifier: BSL-1.0
#include "sim/redis/lua_values.hpp"

#include <lua.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>

namespace conch::sim {
namespace {

/// As the machine instruction does it, which Redis leaves it to.
std::int64_t truncated(lua_Number n) {
    constexpr lua_Number limit = 9223372036854775808.0;
    return n >= -limit && n < limit ? static_cast<std::int64_t>(n)
                                    : std::numeric_limits<std::int64_t>::min();
}

// Since 5.3 Lua has whole numbers beside the others, and a server gives it those.
#if LUA_VERSION_NUM >= 503
void push_integer(lua_State* l, std::int64_t n) { lua_pushinteger(l, n); }

std::int64_t integer_at(lua_State* l, int at) {
    return lua_isinteger(l, at) ? lua_tointeger(l, at) : truncated(lua_tonumber(l, at));
}

std::string digits_at(lua_State* l, int at) {
    lua_pushvalue(l, at);  // the value itself stays a number
    const std::string digits = lua_tostring(l, -1);
    lua_pop(l, 1);
    return digits;
}
#else
void push_integer(lua_State* l, std::int64_t n) { lua_pushnumber(l, static_cast<lua_Number>(n)); }

std::int64_t integer_at(lua_State* l, int at) { return truncated(lua_tonumber(l, at)); }

std::string digits_at(lua_State* l, int at) {
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.17g", lua_tonumber(l, at));
    return digits;
}
#endif

std::string text_at(lua_State* l, int at) {
    std::size_t n = 0;
    const char* s = lua_tolstring(l, at, &n);
    return s ? std::string{s, n} : std::string{};
}

/// The text in this field of the table on top.
std::string field(lua_State* l, const char* name) {
    lua_pushstring(l, name);
    lua_rawget(l, -2);
    std::string text = lua_type(l, -1) == LUA_TSTRING ? text_at(l, -1) : std::string{};
    lua_pop(l, 1);
    return text;
}

reply of_table(lua_State* l) {
    if (std::string words = field(l, "err"); !words.empty()) {
        return reply::error(words);
    }
    if (std::string words = field(l, "ok"); !words.empty()) {
        return reply::status(words);
    }
    reply all = reply::array();
    for (int i = 1;; ++i) {
        lua_rawgeti(l, -1, i);
        if (lua_isnil(l, -1)) {
            lua_pop(l, 1);
            return all;
        }
        all.items.push_back(to_reply(l, -1));
        lua_pop(l, 1);
    }
}

}  // namespace

void push_reply(lua_State* l, const reply& r) {
    switch (r.what) {
        case reply::kind::status: push_marked(l, "ok", r.text); return;
        case reply::kind::error: push_marked(l, "err", r.text); return;
        case reply::kind::integer: push_integer(l, r.integer); return;
        case reply::kind::floating:
        case reply::kind::bulk:
        case reply::kind::verbatim: lua_pushlstring(l, r.text.data(), r.text.size()); return;
        case reply::kind::nil:
        case reply::kind::nil_array: lua_pushboolean(l, 0); return;
        case reply::kind::array:
        case reply::kind::map:
        case reply::kind::push: break;
    }
    lua_createtable(l, static_cast<int>(r.items.size()), 0);
    for (std::size_t i = 0; i < r.items.size(); ++i) {
        push_reply(l, r.items[i]);
        lua_rawseti(l, -2, static_cast<int>(i) + 1);
    }
}

int push_marked(lua_State* l, const char* mark, const std::string& words) {
    lua_createtable(l, 0, 3);
    lua_pushlstring(l, words.data(), words.size());
    lua_setfield(l, -2, mark);
    return 1;
}

reply to_reply(lua_State* l, int at) {
    switch (lua_type(l, at)) {
        case LUA_TSTRING: return reply::bulk(text_at(l, at));
        case LUA_TNUMBER: return reply::number(integer_at(l, at));
        case LUA_TBOOLEAN: return lua_toboolean(l, at) != 0 ? reply::number(1) : reply::nil();
        case LUA_TTABLE: {
            lua_pushvalue(l, at);
            reply r = of_table(l);
            lua_pop(l, 1);
            return r;
        }
        default: return reply::nil();
    }
}

bool take_words(lua_State* l, std::vector<std::string_view>& words,
                std::vector<std::string>& numbers) {
    const int n = lua_gettop(l);
    numbers.reserve(static_cast<std::size_t>(n));
    for (int i = 1; i <= n; ++i) {
        if (lua_type(l, i) == LUA_TNUMBER) {
            words.push_back(numbers.emplace_back(digits_at(l, i)));
        } else if (lua_type(l, i) == LUA_TSTRING) {
            std::size_t length = 0;
            const char* s = lua_tolstring(l, i, &length);
            words.emplace_back(s, length);
        } else {
            return false;
        }
    }
    return n > 0;
}

raised_error to_raised(lua_State* l, int at) {
    lua_pushvalue(l, at);
    raised_error e;
    if (lua_type(l, -1) == LUA_TTABLE) {
        e.words = field(l, "err");
        e.place = field(l, "source") + ":" + field(l, "line");
    } else {
        // "user_script:LINE: words"
        const std::string text = text_at(l, -1);
        const std::size_t colon = text.find(": ");
        e.words = "ERR " + text;
        e.place = "@" + text.substr(0, colon);
    }
    lua_pop(l, 1);
    return e;
}

void add_place(lua_State* l) {
    lua_Debug where;
    if (lua_getstack(l, 1, &where) != 0 && lua_getinfo(l, "nSl", &where) != 0) {
        lua_pushstring(l, "@user_script");
        lua_setfield(l, -2, "source");
        lua_pushstring(l, std::to_string(where.currentline).c_str());
        lua_setfield(l, -2, "line");
    }
}

}  // namespace conch::sim
