// SPDX-License-Identifier: BSL-1.0
// Threads that report the progress of one hold, which is renewed meanwhile.
#include "threads/workers.hpp"

#include <conch/multi_lock.hpp>

#include <boost/asio/use_future.hpp>

#include <thread>

namespace {

using namespace conch;
using namespace conch::test;

class progress_threads_test : public redis_test {
protected:
    void report_from_threads(const mutex& m) {
        const hold h =
            in_time(m.async_lock({.lease = 6s, .progress_within = 1s}, asio::use_future));
        const time_point enough = h.valid_until() + 1s;
        workers many{3, [&](std::size_t) {
                         while (h.valid_until() < enough && !h.lost_reason()) {
                             h.progress();
                             std::this_thread::yield();
                         }
                     }};
        many.join();
        EXPECT_FALSE(h.lost_reason()) << h.lost_reason().message();
    }

    threaded_context context{2};
};

TEST_F(progress_threads_test, of_one_lock) {
    {
        client c{context.io, settings()};
        report_from_threads(mutex{c, "a"});
    }
    context.finish();
}

TEST_F(progress_threads_test, of_several_locks) {
    {
        client one{context.io, settings()};
        client two{context.io, settings()};
        report_from_threads(multi_lock{mutex{one, "a"}, mutex{two, "b"}});
    }
    context.finish();
}

}  // namespace
