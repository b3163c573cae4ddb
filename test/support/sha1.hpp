// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_SHA1_HPP
#define CONCH_TEST_SUPPORT_SHA1_HPP

#include <boost/uuid/detail/sha1.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace conch::test {

/// The SHA-1 of a text, in hexadecimal digits.
inline std::string sha1_of(std::string_view text) {
    using boost::uuids::detail::sha1;
    sha1 hash;
    hash.process_bytes(text.data(), text.size());
    sha1::digest_type digest;  // words until Boost 1.85, then bytes
    hash.get_digest(digest);
    std::string out;
    for (const unsigned part : digest) {
        char hex[9];
        std::snprintf(hex, sizeof hex, "%0*x", static_cast<int>(2 * sizeof digest[0]), part);
        out += hex;
    }
    return out;
}

}  // namespace conch::test

#endif
