// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_SURVEY_HPP
#define CONCH_SRC_CLI_LOCK_SURVEY_HPP

#include "cli/asking.hpp"
#include "cli/lock_entry.hpp"

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace conch::cli {

/// What a survey looks for, and at which pace.
struct survey_terms {
    std::string pattern = "*";  ///< of names, as of KEYS
    bool plain = false;         ///< plain locks, instead of all others
    std::uint32_t page = 1000;  ///< so many keys are looked at by one SCAN
    duration pause{};           ///< between two pages
};

/// Looks for locks and who has them, by commands that only read. A key that is no lock costs the
/// server one command that looks at no more than a few of its fields.
class lock_survey {
public:
    /// `clustered`: `server` is of a cluster.
    lock_survey(const inspector& server, bool clustered) noexcept
        : server_{server}, clustered_{clustered} {}

    /// All locks that somebody holds. Throws `system_error`.
    boost::asio::awaitable<std::vector<lock_entry>> list(const survey_terms& terms);
    /// This one, with the line of its waiters, and what its holders wait for; none: nobody holds
    /// it, or it is no lock. Throws `system_error`.
    boost::asio::awaitable<std::optional<lock_entry>> look_at(const std::string& name);

    /// Masters of the cluster have got other hash slots during `list()`: some locks may be missing.
    bool moved() const noexcept { return moved_; }
    /// Questions that the server refused this user.
    std::size_t forbidden() const noexcept { return forbidden_; }
    /// The server tells this user who its clients are.
    bool knows_clients() const noexcept { return knows_clients_; }
    /// There is such a key, but of no kind that conch has.
    bool stranger() const noexcept { return stranger_; }

private:
    using entries = std::vector<lock_entry>;
    using names = std::vector<std::string>;

    boost::asio::awaitable<std::vector<master>> find_masters();
    /// Throws where the connection breaks. Counts what the user may not have.
    boost::asio::awaitable<std::vector<answer>> ask(std::vector<question> all);
    /// Throws for any error.
    boost::asio::awaitable<answer> ask(question q);
    boost::asio::awaitable<void> scan(const master& at, const survey_terms& terms, const char* type,
                                      entries& found);
    boost::asio::awaitable<void> examine(const master& at, const char* type, names&& keys,
                                         entries& found);
    boost::asio::awaitable<entries> examine_hashes(const names& keys);
    boost::asio::awaitable<entries> examine_permits(const names& keys);
    boost::asio::awaitable<entries> examine_strings(const names& keys);
    boost::asio::awaitable<void> name_readers(entries& found);
    boost::asio::awaitable<void> count_waiting(const master& at, entries& found, std::size_t from);
    boost::asio::awaitable<void> ask_for_waits(entries& found, std::size_t from);
    /// Those of this name, with no places: one, or a semaphore and what its key looks like.
    boost::asio::awaitable<entries> find(const std::string& name);
    boost::asio::awaitable<entries> find_once(const std::string& name);
    boost::asio::awaitable<void> ask_for_line(lock_entry& e);
    boost::asio::awaitable<void> follow_waits(lock_entry& e);
    boost::asio::awaitable<void> look_at_step(wait_step& step);
    boost::asio::awaitable<void> learn_places(const std::vector<master>& masters);
    void locate(entries& found) const;

    const inspector& server_;
    const bool clustered_;
    client_places places_{};
    std::unordered_set<std::string> seen_{};  ///< a scan may come by a key again
    std::int64_t now_us_ = 0;                 ///< by the clock of the server that is scanned
    std::size_t forbidden_ = 0;
    bool moved_ = false;
    bool knows_clients_ = true;
    bool stranger_ = false;
};

}  // namespace conch::cli

#endif
