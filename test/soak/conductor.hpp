// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_CONDUCTOR_HPP
#define CONCH_TEST_SOAK_CONDUCTOR_HPP

#include "soak/faults.hpp"
#include "soak/report.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <vector>

namespace conch::soak {

/// Lets faults strike one after another, sometimes two at a time, and sees that all recover.
class conductor {
public:
    /// `interrupted()`: the user wants an early end.
    conductor(const options& o, std::function<bool()> interrupted);

    /// Throws where the soak itself can't go on.
    report conduct();

private:
    struct blow {
        const fault* what;
        target where;
    };

    boost::asio::awaitable<void> inject();
    boost::asio::awaitable<bool> everyone_served();
    boost::asio::awaitable<void> clean_up();
    std::vector<blow> next();
    blow aim(const fault& f, stage& at);
    report::row& row_of(const blow& b);
    unsigned any(unsigned below);
    void found(std::string what) { findings_.push_back(std::move(what)); }

    const options& options_;
    std::function<bool()> interrupted_;
    scene scene_;
    std::vector<const fault*> chosen_;
    std::vector<std::pair<const fault*, stage*>> deck_;
    report report_{};
    std::vector<std::string> findings_{};
};

}  // namespace conch::soak

#endif
