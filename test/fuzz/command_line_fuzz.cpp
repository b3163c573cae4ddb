// SPDX-License-Identifier: BSL-1.0
// Any words on the command line are understood, or refused in words fit for a terminal. The first
// byte says what they belong to; the lines of the rest are the words.
#include "api/check_config.hpp"
#include "cli/command_error.hpp"
#include "cli/rate_plan.hpp"
#include "cli/run_plan.hpp"
#include "cli/server_url.hpp"
#include "cli/text.hpp"
#include "core/lock_terms.hpp"
#include "fuzz/byte_source.hpp"
#include "fuzz/fuzz_check.hpp"

#include <boost/program_options/value_semantic.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using namespace conch::cli;
using conch::duration;
using conch::errc;
using conch::fuzz::byte_source;
namespace po = boost::program_options;

/// Nothing in it could command a terminal, and it is UTF-8.
bool fit_for_a_terminal(std::string_view text) { return conch::printable(text) == text; }

word_list split(std::string_view text) {
    word_list words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

/// For the commands that ask about one lock.
po::options_description question_options() {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("json", "text");
    add("force", "text");
    add("count", po::value<std::string>()->value_name("N"), "text");
    add_lock_options(options);
    add("help,h", "text");
    return options;
}

void check_server(const server_choice& s) {
    conch::impl::check_config(s.settings);
    FUZZ_CHECK(s.first_answer >= 10ms && s.first_answer <= 1h);
    FUZZ_CHECK(s.settings.operation_timeout > s.first_answer);
    const std::string label = s.settings.url();
    FUZZ_CHECK(fit_for_a_terminal(label));
    FUZZ_CHECK(label.starts_with(s.settings.tls ? "rediss://" : "redis://") ||
               label.starts_with("unix://"));
}

void check_command(const command_plan& plan, const word_list& words) {
    FUZZ_CHECK(!plan.name.empty());
    FUZZ_CHECK(!plan.command.empty() && !plan.command.front().empty());
    FUZZ_CHECK(plan.command.size() <= words.size() + 2);
    FUZZ_CHECK(plan.refused_status >= 0 && plan.refused_status <= 255);
    check_server(plan.server);
}

void read_run(const word_list& words) {
    static const po::options_description options = run_options();
    FUZZ_CHECK(count_own_words(words, options) <= words.size());
    const std::optional<run_plan> plan = read_run_plan(words, options);
    if (!plan) {
        return;
    }
    check_command(*plan, words);
    FUZZ_CHECK(conch::core::check_options(plan->lock, {}) == errc{});
    FUZZ_CHECK(plan->grace >= 0ns && plan->grace <= *plan->lock.lease / 2);
    FUZZ_CHECK(plan->lock.max_hold > plan->grace);
}

void read_rate(const word_list& words) {
    static const po::options_description options = rate_plan_options();
    const std::optional<rate_plan> plan = read_rate_plan(words, options);
    if (!plan) {
        return;
    }
    check_command(*plan, words);
    const conch::rate& allowed = plan->allowed;
    FUZZ_CHECK(allowed.limit >= 1 && allowed.limit <= 1'000'000'000);
    FUZZ_CHECK(allowed.window >= 1ms && allowed.window <= 24h * 365);
    FUZZ_CHECK(plan->permits >= 1 && plan->permits <= allowed.limit);
    FUZZ_CHECK(plan->wait >= 0ns && plan->wait <= longest_wait);
    FUZZ_CHECK(plan->server.settings.operation_timeout >= plan->wait);
}

void read_question(const word_list& words) {
    static const po::options_description options = question_options();
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        return;
    }
    FUZZ_CHECK(!lock_name(values).empty());
    if (values.count("count") != 0) {
        const std::uint32_t n = parse_count("--count", text_option(values, "count"), 1000);
        FUZZ_CHECK(n >= 1 && n <= 1000);
    }
    check_server(read_server_options(values));
}

void read_numbers(byte_source in) {
    const duration least = in.byte() % 2 != 0 ? duration{10ms} : duration{};
    const duration most = in.byte() % 2 != 0 ? duration{1h} : duration{24h * 365};
    const std::string text{in.rest()};
    const duration d = parse_seconds("--wait", text, least, most);
    FUZZ_CHECK(d >= least && d <= most);
    const int status = parse_status("-E", text);
    FUZZ_CHECK(std::to_string(status).size() <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    [[maybe_unused]] static const int no_server = ::unsetenv("CONCH_REDIS");
    byte_source in{data, size};
    const std::size_t what = in.below(4);
    try {
        if (what == 3) {
            read_numbers(in);
        } else {
            constexpr auto readers = std::array{read_run, read_rate, read_question};
            readers[what](split(in.rest()));
        }
    } catch (const usage_error& e) {
        const std::string_view text = e.what();
        FUZZ_CHECK(!text.empty() && fit_for_a_terminal(text));
    }
    return 0;
}
