// SPDX-License-Identifier: BSL-1.0
// Every public operation under every kind of completion token: the test that the columns in the
// other token_*_test.cpp and cancellation_*_test.cpp are instances of.
#include "integration/token_matrix.hpp"

namespace conch::test {

scene::scene(asio::io_context& context, raw_client& r, const config& settings)
    : io{context}, raw{r}, c{context, settings}, m{c, "asked"} {
    const mutex other{c, "held"};
    lock_attempt a = start_lock(other);
    if (!run_until(io, [&] { return a.done(); }) || a.ec()) {
        throw std::runtime_error{"scene: " + a.ec().message()};
    }
    h = std::move(a.value());
}

void scene::expect_usable() {
    const mutex another{c, "another"};
    lock_attempt a = start_lock(another);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); })) << "the client is stuck";
    EXPECT_FALSE(a.ec()) << a.ec().message();
}

void status_operation::fail_at_once(scene& s) {
    plain_attempt closed = start_shutdown(s.c);
    s.expect([&] { return closed.done(); }, "the shutdown ends");
    s.at_once = errc::client_closed;
}

void drain_permits_operation::fail_at_once(scene& s) { status_operation::fail_at_once(s); }

void PrintTo(const matrix_cell& cell, std::ostream* out) { *out << cell.name; }

std::string name_of_cell(const ::testing::TestParamInfo<matrix_cell>& which) {
    return which.param.name;
}

TEST_P(token_matrix, is_as_documented) {
    scene s{io, raw, settings()};
    GetParam().play(s);
}

}  // namespace conch::test
