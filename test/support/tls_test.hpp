// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_TLS_TEST_HPP
#define CONCH_TEST_SUPPORT_TLS_TEST_HPP

#include "support/certificates.hpp"
#include "support/redis_test.hpp"

#include <memory>
#include <string>
#include <vector>

namespace conch::test {

/// What became of one lock.
struct tls_outcome {
    error_code ec{};
    std::string words{};  ///< client::last_server_error
    stats counted{};
};

/// A server that speaks TLS alone on its port, with a certificate for localhost and 127.0.0.1; the
/// raw connection is by the unix socket.
class tls_test : public redis_test {
protected:
    tls_test();

    static certificate_authority& authority();
    static const certificate& server_certificate();

    /// From now on the server shows this to those who connect.
    void show(const certificate& c);
    /// From now on a client needs a certificate of the CA.
    void demand_certificates();

    /// Settings for the server by its address; it is trusted.
    config tls_settings(const std::string& client_name = "conch") const;

    /// One lock and unlock by a client of its own, that gives up at once what will not pass.
    tls_outcome try_one(const config& settings);
    /// That it fails, lastingly, and says so in these words.
    void expect_failure(const config& settings, const std::string& words);
    void expect_success(const config& settings);

    /// All that clients with these settings log from now on. Shared with the sink: a client goes on
    /// in the background, and its log with it.
    static std::shared_ptr<std::vector<std::string>> listen_to(config& settings);
};

}  // namespace conch::test

#endif
