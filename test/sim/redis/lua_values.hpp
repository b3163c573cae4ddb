// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDIS_LUA_VALUES_HPP
#define CONCH_TEST_SIM_REDIS_LUA_VALUES_HPP

#include "sim/redis/reply.hpp"

#include <string>
#include <string_view>
#include <vector>

struct lua_State;

// Between replies and Lua values, by Redis' rules for scripts that use RESP2.
namespace conch::sim {

/// Pushes one value.
void push_reply(lua_State* l, const reply& r);
/// Pushes `{[mark] = words}`; returns 1.
int push_marked(lua_State* l, const char* mark, const std::string& words);
/// Of the value at this place of the stack.
reply to_reply(lua_State* l, int at);

/// The arguments of redis.call(); false if one is neither text nor number, or there is none.
bool take_words(lua_State* l, std::vector<std::string_view>& words,
                std::vector<std::string>& numbers);

/// What a script ended with that raised an error.
struct raised_error {
    std::string words;
    std::string place;  ///< "@user_script:LINE"
};
raised_error to_raised(lua_State* l, int at);
/// Notes in the table on top where the script is.
void add_place(lua_State* l);

}  // namespace conch::sim

#endif
