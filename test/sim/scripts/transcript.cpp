// SPDX-License-Identifier: BSL-1.0
// Prints what each script answers to random arguments, and the keys that it leaves. It is built
// with each Lua that servers have: what they print must be the same.
#include "sim/scripts/player.hpp"
#include "sim/unit/monkey.hpp"

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

namespace {

using namespace conch::sim::test;

// Each Lua has words of its own for what a script can't do. Of an error only its code is printed,
// if it has one.
std::string without_words_of_lua(const std::string& reply) {
    std::istringstream lines{reply};
    std::string all;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("-")) {
            const std::string code = line.substr(1, line.find(' ') - 1);
            const bool is_code = code.find_first_of("abcdefghijklmnopqrstuvwxyz:") == code.npos;
            line = "-" + (is_code ? code : "ERR");
        }
        all += line + '\n';
    }
    return all;
}

void play(std::uint64_t seed) {
    // Every fourth server is older than SPUBLISH. In every other run most leases outlast it.
    script_player p{{.sharded = seed % 4 != 0}};
    const std::size_t longest_pause = seed % 2 == 0 ? 20'000'000 : 500'000;
    monkey m{seed};
    for (const words& w : monkey::subscriptions()) {
        p.ask(w);
    }
    for (int i = 0; i < 200; ++i) {
        const std::size_t which = m.below(conch::wire::script_count + 4);
        const words command =
            which < conch::wire::script_count
                ? m.script(conch::wire::get_script(static_cast<conch::wire::script_id>(which)))
                : m.command();
        for (const std::string& word : command) {
            std::cout << word << ' ';
        }
        std::cout << '\n' << without_words_of_lua(p.ask(command));
        p.now_us += static_cast<std::int64_t>(m.below(longest_pause));
        std::cout << p.server.dump(p.now_us);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " SEEDS\n";
        return 2;
    }
    const auto seeds = static_cast<std::uint64_t>(std::atoll(argv[1]));
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        std::cout << "seed " << seed << '\n';
        play(seed);
    }
}
