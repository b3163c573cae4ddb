// SPDX-License-Identifier: BSL-1.0
#include "deployment/cluster_node.hpp"

#include "support/rights.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>
#include <stdexcept>

namespace conch::test {
namespace {

constexpr int bus_offset = 10'000;
constexpr int highest_port = 65'535;

/// All but its port. A replica migrates to no other master: none has so many. Nor does it take over
/// by itself from a master that is only slow, as all are on a machine that stood still for a
/// second.
cli::private_redis::options usual() {
    cli::private_redis::options out{.arguments = arguments_for_user(cluster_rights())};
    out.arguments.insert(
        out.arguments.end(),
        {"--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
         "--cluster-replica-no-failover", "yes", "--cluster-replica-validity-factor", "0",
         "--cluster-migration-barrier", "100", "--repl-diskless-sync-delay", "0"});
    return out;
}

cli::private_redis::options options_with(const node_ports& ports) {
    cli::private_redis::options all = usual();
    all.arguments.insert(all.arguments.end(), {"--port", std::to_string(ports.client())});
    return all;
}

cli::private_redis::options options_with(const node_ports& ports, const node_certificate& c) {
    cli::private_redis::options all = usual();
    const std::vector<std::string> tls = tls_arguments(c, ports.client());
    all.arguments.insert(all.arguments.end(), tls.begin(), tls.end());
    all.arguments.insert(all.arguments.end(), {"--tls-cluster", "yes"});
    return all;
}

/// "ok" of a line "cluster_state:ok"; empty if there is none.
std::string value_in(const std::string& text, const std::string& field) {
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(field + ':')) {
            const auto begin = field.size() + 1;
            return line.substr(begin, line.find_last_not_of('\r') + 1 - begin);
        }
    }
    return {};
}

/// "5461-10922" or "7"; what moves ("[7->-ID]") is no range.
void add_range(node_line& to, const std::string& word) {
    if (word.starts_with('[')) {
        return;
    }
    const auto dash = word.find('-');
    const auto first = static_cast<unsigned>(std::stoul(word.substr(0, dash)));
    const auto last =
        dash == word.npos ? first : static_cast<unsigned>(std::stoul(word.substr(dash + 1)));
    to.slots.emplace_back(first, last);
}

// ID ADDRESS FLAGS MASTER PING-SENT PONG-RECEIVED EPOCH LINK SLOT...
node_line parse(const std::string& text) {
    std::istringstream words{text};
    node_line out;
    std::string skipped;
    words >> out.id >> skipped >> out.flags >> out.master >> skipped >> skipped >> out.epoch >>
        skipped;
    for (std::string word; words >> word;) {
        add_range(out, word);
    }
    return out;
}

}  // namespace

reserved_port::reserved_port(std::uint16_t number)
    : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    const int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(number);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (fd_ < 0 || ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(fd_, raw, size) != 0 || ::getsockname(fd_, raw, &size) != 0) {
        ::close(fd_);
        throw std::runtime_error{"no free port on 127.0.0.1"};
    }
    number_ = ntohs(address.sin_port);
}

reserved_port::~reserved_port() { ::close(fd_); }

bool node_line::is(const std::string& flag) const {
    return (',' + flags + ',').find(',' + flag + ',') != std::string::npos;
}

node_ports::node_ports() {
    for (int tries = 0; !bus_; ++tries) {
        const int bus = client_.emplace().number() + bus_offset;
        try {
            if (bus <= highest_port) {
                bus_.emplace(static_cast<std::uint16_t>(bus));
            }
        } catch (const std::runtime_error&) {
            if (tries == 1000) {
                throw;
            }
        }
    }
}

cluster_node::cluster_node() : server_{options_with(ports_)} { begin(); }

cluster_node::cluster_node(const node_certificate& c) : server_{options_with(ports_, c)} {
    begin();
}

// ADDSLOTSRANGE is of 7.0.
void cluster_node::add_slots(std::size_t first, std::size_t end) const {
    raw_client::words line{"CLUSTER", "ADDSLOTS"};
    for (std::size_t slot = first; slot < end; ++slot) {
        line.push_back(std::to_string(slot));
    }
    raw().must(line);
}

void cluster_node::kill() {
    server_.kill();
    frozen_ = false;
}

void cluster_node::start() { server_.start(); }

void cluster_node::freeze() {
    server_.freeze();
    frozen_ = true;
}

void cluster_node::thaw() {
    server_.thaw();
    frozen_ = false;
}

std::vector<node_line> cluster_node::view() const {
    std::vector<node_line> out;
    std::istringstream lines{raw().must({"CLUSTER", "NODES"}).text};
    for (std::string line; std::getline(lines, line);) {
        out.push_back(parse(line));
    }
    return out;
}

node_line cluster_node::self() const {
    for (node_line& line : view()) {
        if (line.is("myself")) {
            return std::move(line);
        }
    }
    throw std::runtime_error{"a node of the cluster does not know itself"};
}

std::string cluster_node::info(const std::string& field) const {
    raw_client r = raw();
    const std::string found = value_in(r.must({"CLUSTER", "INFO"}).text, field);
    return found.empty() ? value_in(r.must({"INFO", "replication"}).text, field) : found;
}

std::vector<std::string> cluster_node::keys_in(unsigned slot) const {
    std::vector<std::string> out;
    for (reply& key :
         raw().must({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "1000"}).items) {
        out.push_back(std::move(key.text));
    }
    return out;
}

}  // namespace conch::test
