// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_LOG_HPP
#define CONCH_SRC_CORE_LOG_HPP

#include <conch/config.hpp>
#include <conch/printable.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace conch::core {

/// The user's log sink, or silence. Builds no text when nobody listens. What it passes on may be
/// shown on a terminal.
class log {
public:
    log(log_sink sink, log_level least) : sink_{std::move(sink)}, least_{least} {}

    bool wants(log_level level) const noexcept { return sink_ && level >= least_; }

    template <typename... Parts>
    void operator()(log_level level, const Parts&... parts) const {
        if (!wants(level)) {
            return;
        }
        std::string line;
        (line.append(std::string_view{parts}), ...);
        sink_(level, printable(line));
    }

private:
    log_sink sink_;
    log_level least_;
};

}  // namespace conch::core

#endif
