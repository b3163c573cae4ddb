// SPDX-License-Identifier: BSL-1.0
#include "soak/options.hpp"

#include <boost/program_options.hpp>

#include <random>
#include <sstream>
#include <stdexcept>

namespace conch::soak {
namespace {

namespace po = boost::program_options;

constexpr const char* introduction =
    "conch_soak: client processes increment counters under fenced locks, while faults strike the\n"
    "wire, the servers and the processes themselves.\n"
    "\n"
    "Starts two redis-servers, with a proxy before each for each client process: one keeps its "
    "data\n"
    "over a restart (AOF, written through), the other forgets it. The counters live outside "
    "Redis,\n"
    "in the parent, which records by its own clock who came when. There are two for each lock. "
    "One\n"
    "refuses a fence older than the newest it has seen. The other takes every write, of holders "
    "that\n"
    "look at their hold and then write: exclusion alone protects it.\n"
    "\n"
    "Declared to lose data is one fault alone: SIGKILL of the forgetful server. There fences must\n"
    "protect; everywhere else nobody may come in while an earlier hold is valid by its holder's\n"
    "clock (an overlap), and no unfenced update may be lost, but by a process that was stopped "
    "past\n"
    "the end of its hold between its look and its write. In the end there is no overlap, no update "
    "is\n"
    "lost but as declared, no stale fence was accepted, each worker was served after each fault, "
    "each\n"
    "loss was told by its hold's valid_until, no client process has ended or complained by itself, "
    "and\n"
    "nothing is left on the servers. The status is 0 if all of that is so, 1 if not, 2 for a "
    "wrong\n"
    "command line.\n"
    "\n"
    "The times of the faults depend on the machine: a seed repeats their order, not the run.\n"
    "\n";

}  // namespace

options read_options(int argc, char** argv) {
    options o;
    std::random_device device;
    po::options_description usual{"Options"};
    usual.add_options()("seconds", po::value(&o.seconds)->default_value(60),
                        "how long faults are injected")(
        "seed", po::value(&o.seed)->default_value(device(), "random"), "of all random choices")(
        "processes", po::value(&o.processes)->default_value(4), "client processes")(
        "coroutines", po::value(&o.coroutines)->default_value(4), "workers in each of them")(
        "names", po::value(&o.names)->default_value(2), "locks on each server")(
        "only", po::value(&o.only)->composing(), "inject this fault (repeat for more)")(
        "list", po::bool_switch(&o.list), "name the faults, and end")(
        "json", po::bool_switch(&o.json), "print one JSON object instead of the table")(
        "help", po::bool_switch(&o.help), "print this, and end");
    po::options_description own{"For its own client processes"};
    own.add_options()("worker", po::value(&o.worker))("resource", po::value(&o.resource))(
        "durable", po::value(&o.durable))("forgetful", po::value(&o.forgetful));
    po::options_description all;
    all.add(usual).add(own);
    po::variables_map given;
    po::store(po::command_line_parser(argc, argv).options(all).positional({}).run(), given);
    po::notify(given);
    if (o.seconds < 0 || o.processes == 0 || o.coroutines == 0 || o.names == 0) {
        throw std::invalid_argument{"a number is out of its range"};
    }
    std::ostringstream text;
    text << introduction << usual;
    o.help_text = text.str();
    return o;
}

}  // namespace conch::soak
