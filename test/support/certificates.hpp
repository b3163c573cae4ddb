// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_CERTIFICATES_HPP
#define CONCH_TEST_SUPPORT_CERTIFICATES_HPP

#include "support/program.hpp"

#include <string>
#include <vector>

namespace conch::test {

/// A certificate and its private key: files.
struct certificate {
    std::string file{};
    std::string key{};
};

/// From when until when, as "20200101000000Z".
struct validity {
    std::string from{};
    std::string until{};
};
inline const validity long_ago{"20200101000000Z", "20200102000000Z"};
inline const validity not_yet{"21000101000000Z", "21010101000000Z"};

/// A CA of a test's own, made by the program `openssl` in a temporary folder.
class certificate_authority {
public:
    certificate_authority();

    /// The CA's own certificate.
    const std::string& file() const noexcept { return file_; }
    const std::string& folder() const noexcept { return folder_.path(); }
    /// Makes a certificate for these names, such as "DNS:localhost,IP:127.0.0.1"; by default from
    /// now on.
    certificate issue(const std::string& names, const validity& when = {});
    /// A folder with this CA, as `openssl rehash` names it.
    std::string hashed_folder();

private:
    void openssl(const std::vector<std::string>& arguments) const;
    std::string in(const std::string& name) const { return folder_.path() + '/' + name; }

    temporary_folder folder_{};
    std::string file_ = in("ca.crt");
    int issued_ = 0;
};

}  // namespace conch::test

#endif
