// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_EXIT_CODES_HPP
#define CONCH_SRC_CLI_EXIT_CODES_HPP

namespace conch::cli {

/// Exit statuses of the program `conch`: those of <sysexits.h> and of the shell where they fit.
namespace exit_code {

inline constexpr int ok = 0;
inline constexpr int failure = 1;  ///< refused (run, rate), not held (release), lost updates (demo)
inline constexpr int usage = 64;   ///< the command line is wrong
inline constexpr int unavailable = 69;  ///< no Redis, or none that can serve
inline constexpr int software = 70;     ///< a defect of this program
inline constexpr int os_error = 71;     ///< the system refused something
inline constexpr int io_error = 74;     ///< standard output can't be written
inline constexpr int lock_lost = 75;    ///< the hold was lost, or at --max-hold
inline constexpr int cannot_run = 126;  ///< the command was found and can't be executed
inline constexpr int not_found = 127;   ///< there is no such command
inline constexpr int by_signal = 128;   ///< plus the signal's number

}  // namespace exit_code
}  // namespace conch::cli

#endif
