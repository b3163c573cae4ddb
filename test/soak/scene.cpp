// SPDX-License-Identifier: BSL-1.0
#include "soak/scene.hpp"

#include "soak/client_process.hpp"

#include <filesystem>
#include <utility>

namespace conch::soak {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> arguments(bool durable) {
    std::vector<std::string> out{"--enable-debug-command", "yes", "--client-output-buffer-limit",
                                 "pubsub 262144 0 0"};
    if (durable) {
        out.insert(out.end(), {"--appendonly", "yes", "--appendfsync", "always"});
    }
    return out;
}

}  // namespace

stage::stage(bool is_durable, unsigned processes)
    : durable{is_durable},
      server{{.arguments = arguments(is_durable)}},
      usual_maxclients{raw.must({"CONFIG", "GET", "maxclients"}).items.at(1).text} {
    for (unsigned i = 0; i < processes; ++i) {
        wires.push_back(std::make_unique<test::proxy>(server.socket_path()));
    }
}

void stage::set(const std::string& setting, const std::string& value) {
    raw.must({"CONFIG", "SET", setting, value});
}

void stage::start() {
    server.start();
    raw.reconnect();
}

std::vector<std::string> stage::leftovers() {
    std::vector<std::string> out = raw.channels();
    for (const test::reply& key : raw.must({"KEYS", name() + ":*"}).items) {
        out.push_back(key.text);
    }
    return out;
}

scene::scene(const options& o) : settings{o}, random{o.seed} {
    workers.resize(o.processes);
    for (std::size_t i = 0; i < workers.size(); ++i) {
        start_worker(i);
    }
}

void scene::start_worker(std::size_t index) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const auto number = [](auto n) { return std::to_string(n); };
    workers[index] = std::make_unique<test::program>(std::vector<std::string>{
        self, "--worker", number(index + 1), "--seed", number(settings.seed + 1000 * ++starts_),
        "--coroutines", number(settings.coroutines), "--names", number(settings.names),
        "--resource", bench.socket_path(), "--durable", durable.wires[index]->socket_path(),
        "--forgetful", forgetful.wires[index]->socket_path()});
}

void scene::found(std::string what) {
    if (!what.empty()) {
        findings.push_back(std::move(what));
    }
}

void scene::kill_worker(std::size_t index) {
    found(kill(*workers[index]));
    workers[index].reset();
}

void scene::finish() {
    for (const auto& w : workers) {
        w->end_input();
    }
    for (const auto& w : workers) {
        found(soak::finish(*w, 40s));
    }
}

}  // namespace conch::soak
