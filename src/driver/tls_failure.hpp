// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_TLS_FAILURE_HPP
#define CONCH_SRC_DRIVER_TLS_FAILURE_HPP

#include <conch/error.hpp>
#include <conch/tls.hpp>

#include <string>

namespace conch::impl {

/// Why a TLS connection failed.
struct tls_failure {
    std::string words{};
    bool lasting = false;  ///< another attempt would fail in the same way
};

/// Of a connection over which nothing was received yet. `verdict`: OpenSSL's on the server's
/// certificate.
tls_failure explain_tls(error_code ec, long verdict, const tls_options& options,
                        const std::string& server_name);

/// Whom the server must be.
std::string server_name_of(const tls_options& options, const std::string& host);

}  // namespace conch::impl

#endif
