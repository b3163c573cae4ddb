// SPDX-License-Identifier: BSL-1.0
#include "cli/private_redis.hpp"
#include "uncontended.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/program_options.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace po = boost::program_options;
using namespace conch::bench;

constexpr int usage_status = 2;

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

po::options_description uncontended_description() {
    po::options_description d{
        "conch_bench uncontended: lock + unlock pairs per second through one "
        "connection, beside the raw limit"};
    d.add_options()("coroutines", po::value<std::int64_t>()->default_value(128),
                    "under way at any time, each on a lock of its own (1 to 1000000)")(
        "seconds", po::value<double>()->default_value(0.5, "0.5"),
        "length of one slice of one side (0.001 to 20)")(
        "rounds", po::value<std::int64_t>()->default_value(11),
        "interleaved pairs of slices (11 to 10001)")(
        "redis", po::value<std::string>(),
        "URL of the server; default: a private redis-server on a unix socket")(
        "json", "print one JSON object")("help", "print this");
    return d;
}

template <typename T>
T in_range(const po::variables_map& values, const char* name, T least, T most) {
    const T value = values[name].as<T>();
    if (!(value >= least && value <= most)) {
        throw usage_error{std::string{"--"} + name + " is out of its range"};
    }
    return value;
}

void print(const uncontended_options& options, const uncontended_result& r, bool json) {
    if (json) {
        const boost::json::object object{{"coroutines", options.coroutines},
                                         {"pairs_per_s", r.pairs_per_s},
                                         {"raw_pairs_per_s", r.raw_pairs_per_s},
                                         {"ratio", r.ratio},
                                         {"p50_us", r.p50_us},
                                         {"p99_us", r.p99_us}};
        std::cout << boost::json::serialize(object) << '\n';
        return;
    }
    std::printf("coroutines   %12zu\n", options.coroutines);
    std::printf("pairs/s      %12.0f\n", r.pairs_per_s);
    std::printf("raw pairs/s  %12.0f\n", r.raw_pairs_per_s);
    std::printf("ratio        %12.3f\n", r.ratio);
    std::printf("p50          %12.1f us\n", r.p50_us);
    std::printf("p99          %12.1f us\n", r.p99_us);
}

int uncontended(const std::vector<std::string>& arguments) {
    const po::options_description description = uncontended_description();
    po::variables_map values;
    po::store(po::command_line_parser{arguments}.options(description).positional({}).run(), values);
    if (values.count("help") != 0) {
        std::cout << description;
        return 0;
    }
    uncontended_options options;
    options.coroutines =
        static_cast<std::size_t>(in_range<std::int64_t>(values, "coroutines", 1, 1'000'000));
    options.slice = std::chrono::duration<double>{in_range<double>(values, "seconds", 0.001, 20)};
    options.rounds = static_cast<std::size_t>(in_range<std::int64_t>(values, "rounds", 11, 10'001));

    std::unique_ptr<conch::cli::private_redis> own_server;
    std::string url;
    if (values.count("redis") != 0) {
        url = values["redis"].as<std::string>();
    } else {
        own_server = std::make_unique<conch::cli::private_redis>();
        url = own_server->url();
    }
    const uncontended_result result = run_uncontended(conch::config::from_url(url), options);
    print(options, result, values.count("json") != 0);
    return 0;
}

constexpr const char* usage =
    "usage: conch_bench uncontended [--coroutines N] [--seconds S] "
    "[--rounds R] [--redis URL] [--json]\n";

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> arguments{argv + std::min(argc, 1), argv + argc};
        if (arguments.empty()) {
            throw usage_error{"which benchmark?"};
        }
        if (arguments[0] == "--help") {
            std::cout << usage;
            return 0;
        }
        if (arguments[0] != "uncontended") {
            throw usage_error{"unknown benchmark: " + arguments[0]};
        }
        return uncontended({arguments.begin() + 1, arguments.end()});
    } catch (const usage_error& e) {
        std::cerr << "conch_bench: " << e.what() << '\n' << usage;
        return usage_status;
    } catch (const po::error& e) {
        std::cerr << "conch_bench: " << e.what() << '\n' << usage;
        return usage_status;
    } catch (const std::exception& e) {
        std::cerr << "conch_bench: " << e.what() << '\n';
        return 1;
    }
}
