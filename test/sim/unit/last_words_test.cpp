// SPDX-License-Identifier: BSL-1.0
#include "sim/last_words.hpp"

#include "core/check.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

namespace {

namespace sim = conch::sim;

constexpr const char* seed_and_replay =
    "seed 7 ends the run\n  replay: conch_sim --seed 7 --count 1 --trace --mutant field_reused\n";

void play_seven(unsigned patience_s) {
    sim::leave_last_words();
    sim::now_playing(6, sim::replay_of("conch_sim", 6, sim::deployment::alone, ""), 60);
    sim::now_playing(7, sim::replay_of("conch_sim", 7, sim::deployment::alone, "field_reused"),
                     patience_s);
}

TEST(LastWordsDeathTest, a_broken_invariant_names_the_seed_and_its_replay) {
    const auto broken = [] {
        play_seven(0);
        CONCH_CHECK(false);
    };
    EXPECT_DEATH(broken(), seed_and_replay);
}

TEST(LastWordsDeathTest, an_endless_loop_names_the_seed_and_ends) {
    const auto endless = [] {
        play_seven(1);
        for (;;) {
            ::pause();
        }
    };
    EXPECT_EXIT(endless(), testing::KilledBySignal(SIGALRM), seed_and_replay);
}

}  // namespace
