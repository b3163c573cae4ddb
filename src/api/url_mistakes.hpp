// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_URL_MISTAKES_HPP
#define CONCH_SRC_API_URL_MISTAKES_HPP

#include <string>
#include <string_view>

namespace conch::impl {

/// What is wrong with a URL that was refused, if that is what most people get wrong: a password
/// or a path that is not percent-encoded, an IPv6 address without brackets. Else empty.
std::string usual_mistake(std::string_view url);

}  // namespace conch::impl

#endif
