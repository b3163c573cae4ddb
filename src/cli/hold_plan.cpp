// SPDX-License-Identifier: BSL-1.0
#include "cli/hold_plan.hpp"

namespace conch::cli {

namespace po = boost::program_options;

po::options_description hold_options() {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("background,b",
        "end with 0 once the lock is held, and hold it in the background, until the caller ends");
    add("kill",
        "before the lock is lost, end the caller's whole process group: SIGTERM, then SIGKILL "
        "(default: SIGTERM to the caller alone)");
    add_lock_plan_options(options, "take a fencing token, and tell it");
    add_grant_options(options, "the lock is held");
    add_lock_options(options);
    add("help,h", "show this");
    return options;
}

std::optional<hold_plan> read_hold_plan(const word_list& words,
                                        const po::options_description& options) {
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        return std::nullopt;
    }
    std::optional<hold_plan> plan{std::in_place};
    plan->name = lock_name(values);
    read_grant_options(values, *plan);
    read_lock_plan(values, *plan);
    plan->in_background = values.count("background") != 0;
    plan->kills = values.count("kill") != 0;
    return plan;
}

}  // namespace conch::cli
