// SPDX-License-Identifier: BSL-1.0
#include "cpus.hpp"

#include <sched.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace conch::bench {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
}

std::vector<int> usable_cpus() {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) {
        fail("sched_getaffinity");
    }
    std::vector<int> out;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            out.push_back(cpu);
        }
    }
    return out;
}

}  // namespace

void use_cpu(std::size_t k) {
    static const std::vector<int> cpus = usable_cpus();  // a forked process has it, too
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[k % cpus.size()], &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) {
        fail("sched_setaffinity");
    }
}

}  // namespace conch::bench
