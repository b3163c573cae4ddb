// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_NAME_SERVER_HPP
#define CONCH_TEST_SUPPORT_NAME_SERVER_HPP

#include <cstddef>
#include <string>
#include <string_view>

// In the test programs, and in what loads the library of this file, `getaddrinfo` knows names that
// end in ".test".
namespace conch::test {

/// A host with two addresses: `silent_address` first, then 127.0.0.1.
inline constexpr std::string_view two_addresses = "two-addresses.test";
inline constexpr const char* silent_address = "127.0.0.3";

/// A host whose name server does not answer: a search for it does not end. (Nor does one for any
/// other name that ends in ".silent.test".)
class silent_name {
public:
    silent_name();
    /// Ends the searches.
    ~silent_name();
    silent_name(const silent_name&) = delete;
    silent_name& operator=(const silent_name&) = delete;

    const std::string& text() const noexcept { return text_; }
    /// How many searches began.
    std::size_t searches() const;
    /// The name server answers from now on: the host is this machine.
    void answer();

private:
    std::string text_;
};

}  // namespace conch::test

#endif
