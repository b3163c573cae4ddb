// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TLS_HPP
#define CONCH_TLS_HPP

#include <string>

namespace conch {

/// How a connection is encrypted, and whom it trusts: `config::tls`. TLS 1.2 at least. All files
/// are in PEM.
///
/// The constructor of `client` reads the files, and throws `std::invalid_argument` that names the
/// one that can't be used. Those that are named here (not what is in `ca_path`) are looked at again
/// at each attempt to connect, so that renewed ones are used without a restart; while they can't be
/// used, the former ones are, and a warning is logged.
struct tls_options {
    /// The server's certificate must come from a CA that is trusted here, be valid now, and be
    /// made for `server_name`. Off: anybody can be the server; a warning is logged. Default: on.
    bool verify = true;
    /// CAs to trust. Empty, and `ca_path` too: those of the system.
    std::string ca_file{};
    /// Folder of CAs to trust, with the names that `openssl rehash` gives.
    std::string ca_path{};
    /// Certificate of the client, followed by those of its CAs, if any; empty: none.
    std::string certificate_file{};
    /// Its private key, not encrypted; empty where there is no certificate.
    std::string private_key_file{};
    /// The name, or IP address, that the server's certificate must be made for, and that is asked
    /// for (SNI); one for all servers, sentinels included. Empty: where the connection goes, which
    /// is `config::host`. With Sentinel and Cluster that is what the settings say of those that are
    /// asked first, and what these say of the others (or `map_address` makes of it): an IP address,
    /// which their certificates must have then, unless they announce names
    /// (`cluster-preferred-endpoint-type hostname`, or `sentinel resolve-hostnames yes` and
    /// `sentinel announce-hostnames yes`).
    std::string server_name{};

    bool operator==(const tls_options&) const = default;  ///< whether all of them are the same
};

}  // namespace conch

#endif
