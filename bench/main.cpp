// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "interruption.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace conch::bench;

constexpr int usage_status = 2;

std::vector<sub_command> all_commands() {
    return {uncontended_command(), calls_command(),     local_command(),
            contended_command(),   handoff_command(),   holds_command(),
            names_command(),       reconnect_command(), instructions_command()};
}

std::string usage(const std::vector<sub_command>& all) {
    std::string out =
        "usage: conch_bench BENCHMARK [OPTION...]\n"
        "       conch_bench BENCHMARK --help\n"
        "\n"
        "Measures conch beside what the server and the wire allow at best, on one server and in\n"
        "one run: the two take turns, and each figure is a median over the rounds unless its help\n"
        "says otherwise.\n"
        "\n";
    std::size_t width = 0;
    for (const sub_command& c : all) {
        width = std::max(width, std::string{c.name}.size());
    }
    for (const sub_command& c : all) {
        const std::string name = c.name;
        out += "  " + name + std::string(width - name.size() + 2, ' ') + c.summary + '\n';
    }
    return out;
}

void run(const std::vector<std::string>& words) {
    std::vector<sub_command> all = all_commands();
    if (words.empty()) {
        throw usage_error{"which benchmark?"};
    }
    if (words[0] == "--help") {
        std::cout << usage(all);
        return;
    }
    all.push_back(slices_command());
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const sub_command& c) { return c.name == words[0]; });
    if (found == all.end()) {
        throw usage_error{"there is no benchmark " + words[0]};
    }
    run_command(*found, {words.begin() + 1, words.end()});
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words{argv + std::min(argc, 1), argv + argc};
    try {
        watch_for_interruption();
        run(words);
        return 0;
    } catch (const usage_error& e) {
        std::cerr << "conch_bench: " << e.what() << " (see conch_bench --help)\n";
        return usage_status;
    } catch (const std::exception& e) {
        std::cerr << "conch_bench: " << e.what() << '\n';
        return 1;
    }
}
