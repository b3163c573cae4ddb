// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_NAMED_TYPES_HPP
#define CONCH_TEST_SUPPORT_NAMED_TYPES_HPP

#include <conch/conch.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace conch::test {

/// Which names a cluster can serve: `whole_tag`: where a hash tag is begun, it is whole.
enum class cluster_names { any, whole_tag, no_brace };

/// What is made with a client and a name.
struct named_type {
    const char* text;  ///< what the message begins with that refuses a name
    void (*make)(const client& redis, std::string_view name);
    cluster_names in_cluster = cluster_names::whole_tag;
};

template <typename Type>
void make_named(const client& redis, std::string_view name) {
    static_cast<void>(Type{redis, name});
}

/// All of them.
inline constexpr named_type named_types[]{
    {"conch::mutex", &make_named<mutex>},
    {"conch::mutex",
     [](const client& redis, std::string_view name) {
         static_cast<void>(mutex{redis, name, {.fenced = true}});
     }},
    {"conch::mutex", [](const client& redis,
                        std::string_view name) { static_cast<void>(quorum_mutex{{redis}, name}); }},
    {"conch::mutex",
     [](const client& redis, std::string_view name) {
         static_cast<void>(once{redis, name, {.period = std::chrono::hours{24}}});
     }},
    {"conch::token_mutex", &make_named<token_mutex>},
    {"conch::fair_mutex", &make_named<fair_mutex>},
    {"conch::leader", &make_named<leader>},
    {"conch::shared_mutex", &make_named<shared_mutex>},
    {"conch::semaphore", &make_named<semaphore>},
    {"conch::counting_semaphore", &make_named<counting_semaphore>},
    {"conch::latch", &make_named<latch>, cluster_names::no_brace},
    {"conch::rate_limiter",
     [](const client& redis, std::string_view name) {
         static_cast<void>(rate_limiter{redis, name, {1, std::chrono::seconds{1}}});
     },
     cluster_names::any},
};

/// Why it can't have this name; empty: it can.
inline std::string refusal_of(const named_type& t, const client& redis, std::string_view name) {
    try {
        t.make(redis, name);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

}  // namespace conch::test

#endif
