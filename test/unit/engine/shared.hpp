// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_SHARED_HPP
#define CONCH_TEST_UNIT_ENGINE_SHARED_HPP

#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace conch::test {

using namespace std::chrono_literals;
using conch::impl::view_ptr;

/// The lines of a read-write lock "a", and its readers and writers.
inline const std::string rw_channel = "redisson_rwlock:{a}";

inline std::string timeout_of(int n) { return "{a}:c:" + std::to_string(n) + ":rwlock_timeout:1"; }

inline std::string read_of(int n, const std::string& lease = "30000") {
    return "shared_read a " + timeout_of(n) + " conch_rw_writer:{a} c:" + std::to_string(n) + " " +
           lease;
}

inline std::string write_of(int n, const std::string& waits = "3000") {
    return "shared_write a conch_rw_writer:{a} c:" + std::to_string(n) + ":write 30000 " + waits;
}

inline std::string end_of(int n, const std::string& suffix = "") {
    const std::string deadline = suffix.empty() ? timeout_of(n) + " " : "";
    return "shared_release a " + deadline + rw_channel + " publish c:" + std::to_string(n) + suffix;
}

inline std::string downgrade_of(int n, const std::string& lease = "30000") {
    const std::string field = "c:" + std::to_string(n);
    return "shared_downgrade a " + timeout_of(n) + " " + field + ":write " + field + " " + lease +
           " " + rw_channel + " publish";
}

/// The end of one that was, or may have been, downgraded.
inline std::string end_of_either(int n, bool reads = true) {
    const std::string field = "c:" + std::to_string(n);
    return "shared_release a " + timeout_of(n) + " " + rw_channel + " publish " +
           (reads ? field + " " + field + ":write" : field + ":write " + field);
}

inline std::string renew_reader_of(int n, std::int64_t lease_ms = 30'000) {
    return join("shared_renew a ", timeout_of(n), " c:", n, " ", lease_ms);
}

class engine_shared : public testing::Test {
protected:
    operation& read(const lock_options& o = {}) {
        h.use(conch::protocol::shared_read_protocol, "a");
        return h.lock("a", o);
    }
    operation& try_read() {
        h.use(conch::protocol::shared_read_protocol, "a");
        return h.try_lock("a");
    }
    operation& write(const lock_options& o = {}) {
        h.use(conch::protocol::shared_write_protocol, "a");
        return h.lock("a", o);
    }
    operation& try_write() {
        h.use(conch::protocol::shared_write_protocol, "a");
        return h.try_lock("a");
    }
    /// Held for reading, with nothing on its way.
    view_ptr reader(const lock_options& o = {}) {
        operation& op = read(o);
        h.connect();
        h.sent();
        h.reply(bulk(""));
        EXPECT_TRUE(op.granted());
        return op.view;
    }
    view_ptr writer(const lock_options& o = {}) {
        operation& op = write(o);
        h.connect();
        h.sent();
        h.reply(bulk(""));
        EXPECT_TRUE(op.granted());
        return op.view;
    }
    /// The same, but a downgrade of it was lost: it may be a reader by now.
    view_ptr writer_or_reader() {
        const view_ptr v = writer();
        h.downgrade(v);
        h.sent();
        h.break_connection();
        h.connect();
        h.sent();
        h.reply(integer(1), error("NOPERM no"), array(integer(1)));
        return v;
    }

    engine_harness h{};
};

}  // namespace conch::test

#endif
