// SPDX-License-Identifier: BSL-1.0
#include "sim/mutants/choose.hpp"

#include "mutants.hpp"
#include "sim/redis/lua_host.hpp"
#include "wire/script.hpp"

#include <iterator>
#include <string>

namespace conch::sim {

void choose(std::size_t which) {
    mutants::active = static_cast<int>(which);
    for (const mutants::script& s : mutants::scripts) {
        for (std::size_t id = 0; s.mutant == mutants::active && id < wire::script_count; ++id) {
            const wire::script& original = wire::get_script(static_cast<wire::script_id>(id));
            if (original.name == s.name) {
                std::string problem;
                lua_host::instance().load(original.body, &problem);
                lua_host::instance().replace(original.sha1, s.text);
            }
        }
    }
}

bool choose_mutant(std::string_view name) {
    for (std::size_t i = 0; i < std::size(mutants::all); ++i) {
        if (mutants::all[i].name == name && !is_lost(mutants::all[i])) {
            choose(i);
            return true;
        }
    }
    return false;
}

}  // namespace conch::sim
