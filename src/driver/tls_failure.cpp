// SPDX-License-Identifier: BSL-1.0
#include "driver/tls_failure.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

std::string of_certificate(long verdict, const std::string& server_name) {
    switch (verdict) {
        case X509_V_ERR_CERT_HAS_EXPIRED: return "the server's certificate has expired";
        case X509_V_ERR_CERT_NOT_YET_VALID: return "the server's certificate is not yet valid";
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "the server's certificate is not made for " + server_name;
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return std::string{"the server's certificate is of an unknown CA: "} +
                   ::X509_verify_cert_error_string(verdict);
    }
    return std::string{"the server's certificate is refused: "} +
           ::X509_verify_cert_error_string(verdict);
}

std::string of_protocol(error_code ec, const tls_options& options) {
    switch (ERR_GET_REASON(static_cast<unsigned long>(ec.value()))) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
        case SSL_R_HTTP_REQUEST: return "the server does not speak TLS on this port";
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_WRONG_SSL_VERSION:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
            return "the server does not speak TLS 1.2 or newer";
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
            return "the server demands a certificate of the client";
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
            return "the server does not know the CA of the client's certificate";
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
            return "the server finds the client's certificate expired";
        case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
            if (options.certificate_file.empty()) {
                return "the server refused the handshake; does it demand a certificate?";
            }
            break;
    }
    return ec.message();
}

}  // namespace

tls_failure explain_tls(error_code ec, long verdict, const tls_options& options,
                        const std::string& server_name) {
    if (ec == asio::error::eof || ec == asio::ssl::error::stream_truncated) {
        return {"TLS: the server closed the connection", false};
    }
    if (ec.category() != asio::error::get_ssl_category()) {
        return {ec.message(), false};
    }
    const bool refused = options.verify && verdict != X509_V_OK;
    return {"TLS: " + (refused ? of_certificate(verdict, server_name) : of_protocol(ec, options)),
            true};
}

// Certificates, and SNI, have names without the dot that ends an absolute one.
std::string server_name_of(const tls_options& options, const std::string& host) {
    std::string name = options.server_name.empty() ? host : options.server_name;
    if (name.ends_with('.')) {
        name.pop_back();
    }
    return name;
}

}  // namespace conch::impl
