// SPDX-License-Identifier: BSL-1.0
#include "cli/exec.hpp"

#include "cli/spawn.hpp"
#include "cli/text.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace conch::cli {

command_error exec_failure(const std::string& program, int error) {
    // A file that is there, but needs an interpreter that isn't, is ENOENT too.
    const bool found = error != ENOENT || (program.find('/') != std::string::npos &&
                                           ::access(program.c_str(), F_OK) == 0);
    const std::string why = error == ENOENT && found
                                ? "its interpreter (the first line after #!) is not there"
                                : std::generic_category().message(error);
    return {found ? exit_code::cannot_run : exit_code::not_found,
            "cannot run " + in_quotes(program) + ": " + why};
}

command_error replace_process(word_list words, const sigset_t& mask) {
    const std::vector<char*> argv = exec_words(words);
    sigset_t own;
    ::sigprocmask(SIG_SETMASK, &mask, &own);
    ::execvp(argv.front(), argv.data());
    const int error = errno;
    ::sigprocmask(SIG_SETMASK, &own, nullptr);
    return exec_failure(words.front(), error);
}

}  // namespace conch::cli
