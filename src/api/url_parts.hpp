// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_URL_PARTS_HPP
#define CONCH_SRC_API_URL_PARTS_HPP

#include <conch/config.hpp>

#include <boost/url/params_view.hpp>
#include <boost/url/url_view.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What URLs of all schemes have in common.
namespace conch::impl {

/// Throws `std::invalid_argument`: says why, and how a URL looks.
[[noreturn]] void refuse_url(const std::string& why);
/// From 0 to `most`; `what` it is, for the words of a refusal.
unsigned number_in_url(std::string_view text, unsigned most, const char* what);
/// Precondition: `url` outlives the view. No fragment, and no query twice.
boost::urls::url_view parse_url(std::string_view url);
/// A + is a +: in a password, or a path, it is likelier than a blank.
boost::urls::params_view queries_of(const boost::urls::url_view& u);

/// The parts of a URL that may name several hosts.
struct several_hosts {
    std::string_view before;  ///< user and password
    std::string single{};     ///< a URL of the first host only, without a zone
    std::vector<server_address> addresses{};
};

several_hosts read_hosts(std::string_view url, std::uint16_t usual_port);

}  // namespace conch::impl

#endif
