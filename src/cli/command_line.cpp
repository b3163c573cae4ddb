// SPDX-License-Identifier: BSL-1.0
#include "cli/command_line.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>

#include <algorithm>
#include <string_view>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

bool takes_value(const po::options_description& options, const std::string& name) {
    const auto* const found = options.find_nothrow(name, false);
    return found != nullptr && found->semantic()->min_tokens() > 0;
}

/// Whether the value of the option in `word` is the next word.
bool wants_next(const po::options_description& options, std::string_view word) {
    if (word.starts_with("--")) {
        word.remove_prefix(2);
        return word.find('=') == word.npos && takes_value(options, std::string{word});
    }
    for (word.remove_prefix(1); !word.empty(); word.remove_prefix(1)) {
        if (takes_value(options, {'-', word.front()})) {
            return word.size() == 1;
        }
    }
    return false;
}

}  // namespace

namespace {

po::variables_map parse(const word_list& words, const po::options_description& options) {
    namespace style = po::command_line_style;
    po::options_description with_name;
    with_name.add(options).add_options()("NAME", po::value<std::string>());
    po::positional_options_description one_name;
    one_name.add("NAME", 1);
    po::variables_map values;
    po::store(po::command_line_parser{words}
                  .options(with_name)
                  .positional(one_name)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
    return values;
}

/// Why the words don't parse. An exception's what() replaces "%original_token%" and its like, in
/// the user's own words too, and may do so for ever: so it is that of words without a '%'.
std::string reason_against(word_list words, const po::options_description& options) {
    for (std::string& word : words) {
        std::replace(word.begin(), word.end(), '%', '?');
    }
    try {
        parse(words, options);
    } catch (const po::error& e) {
        return printable(e.what());
    }
    return "a word with a percent sign is not understood";
}

}  // namespace

po::variables_map parse_words(const word_list& words, const po::options_description& options) {
    try {
        return parse(words, options);
    } catch (const po::too_many_positional_options_error&) {
        throw usage_error("too many words on the command line");
    } catch (const po::unknown_option& e) {
        throw usage_error("unknown option " + in_quotes(e.get_option_name()));
    } catch (const po::error&) {
        throw usage_error(reason_against(words, options));
    }
}

std::size_t count_own_words(const word_list& words, const po::options_description& options) {
    std::size_t i = 0;
    while (i < words.size()) {
        const std::string& word = words[i];
        if (word == "--") {
            return i + 1;
        }
        if (word.size() < 2 || word.front() != '-') {
            break;
        }
        i += wants_next(options, word) ? 2 : 1;
    }
    return i < words.size() ? i : words.size();
}

std::string text_option(const po::variables_map& values, const char* name) {
    if (values.count(name) == 0) {
        return {};
    }
    std::string text = values[name].as<std::string>();
    if (text.empty()) {
        throw usage_error("--" + std::string{name} + " must not be empty");
    }
    return text;
}

std::optional<duration> seconds_option(const po::variables_map& values, const char* name,
                                       duration least, duration most) {
    const std::string text = text_option(values, name);
    if (text.empty()) {
        return std::nullopt;
    }
    return parse_seconds("--" + std::string{name}, text, least, most);
}

void check_name(std::string_view thing, const std::string& name) {
    if (name.empty()) {
        throw usage_error("the " + std::string{thing} + "'s NAME is empty");
    }
}

std::string lock_name(const po::variables_map& values) {
    if (values.count("NAME") == 0) {
        throw usage_error("the lock's NAME is missing");
    }
    std::string name = values["NAME"].as<std::string>();
    check_name("lock", name);
    return name;
}

}  // namespace conch::cli
