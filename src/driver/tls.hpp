// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_TLS_HPP
#define CONCH_SRC_DRIVER_TLS_HPP

#include "driver/stream.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace conch::impl {

/// Makes the TLS connections of a client. Nothing here needs OpenSSL, which may be left out.
class tls {
public:
    tls() = default;
    tls(const tls&) = delete;
    tls& operator=(const tls&) = delete;
    virtual ~tls() = default;

    /// On the client's strand. `host`: where it goes.
    virtual std::shared_ptr<stream> make_stream(client_core& home, std::size_t place,
                                                std::uint64_t number, const std::string& host) = 0;
};

/// None if the settings want none. Throws `std::invalid_argument` for a file that can't be used.
std::unique_ptr<tls> make_tls(const config& settings);

/// Whether this library has TLS (CONCH_TLS).
bool has_tls() noexcept;

}  // namespace conch::impl

#endif
