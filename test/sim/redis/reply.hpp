// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDIS_REPLY_HPP
#define CONCH_TEST_SIM_REDIS_REPLY_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::sim {

/// What a command answers, before it is put into bytes or into Lua.
struct reply {
    enum class kind : std::uint8_t {
        status,
        error,
        integer,
        floating,
        bulk,
        verbatim,
        nil,
        nil_array,
        array,
        map,
        push
    };

    static reply ok() { return {kind::status, 0, "OK", {}}; }
    static reply status(std::string_view words) {
        return {kind::status, 0, std::string{words}, {}};
    }
    static reply error(std::string_view words) { return {kind::error, 0, std::string{words}, {}}; }
    static reply number(std::int64_t n) { return {kind::integer, n, {}, {}}; }
    static reply bulk(std::string_view s) { return {kind::bulk, 0, std::string{s}, {}}; }
    static reply nil() { return {kind::nil, 0, {}, {}}; }
    static reply array(std::vector<reply> items = {}) {
        return {kind::array, 0, {}, std::move(items)};
    }

    bool is_error() const noexcept { return what == kind::error; }
    /// In the bytes of RESP3, or of RESP2.
    void write(std::string& out, bool resp3) const;

    kind what = kind::nil;
    std::int64_t integer = 0;
    std::string text{};
    std::vector<reply> items{};
};

}  // namespace conch::sim

#endif
