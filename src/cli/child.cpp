// SPDX-License-Identifier: BSL-1.0
#include "cli/child.hpp"

#include "cli/command_error.hpp"
#include "cli/spawn.hpp"
#include "cli/terminal.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

namespace conch::cli {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text{*entry};
        if (!variables.contains(std::string{text.substr(0, text.find('='))})) {
            out.emplace_back(text);
        }
    }
    for (const auto& [name, value] : variables) {
        if (!value.empty()) {
            out.push_back(name + '=' + value);
        }
    }
    return out;
}

}  // namespace

launched launch(const child_plan& plan) {
    std::vector<std::string> words = plan.words;
    std::vector<std::string> settings = environment_with(plan.variables);
    const std::vector<char*> argv = exec_words(words);
    const std::vector<char*> envp = exec_words(settings);
    const auto prepare = [&plan]() noexcept {
        ::setpgid(0, 0);
        if (plan.announce != nullptr) {
            *plan.announce = ::getpid();
        }
        if (plan.terminal >= 0) {
            put_in_foreground(plan.terminal, ::getpid());
        }
        if (plan.kept_descriptor >= 0) {
            ::fcntl(plan.kept_descriptor, F_SETFD, 0);
        }
        if (plan.ignores_children) {
            ::signal(SIGCHLD, SIG_IGN);
        }
        ::sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
    };
    const spawned child = spawn(plan.program.c_str(), argv.data(), envp.data(), prepare);
    if (child.fork_error != 0) {
        throw os_failure("cannot start a process", child.fork_error);
    }
    return {child.pid, child.exec_error};
}

int shell_status(int wait_status) noexcept {
    if (WIFSIGNALED(wait_status)) {
        return exit_code::by_signal + WTERMSIG(wait_status);
    }
    return WEXITSTATUS(wait_status);
}

}  // namespace conch::cli
