// SPDX-License-Identifier: BSL-1.0
// In the place of tls_*.cpp where the library is built without TLS.
#include "driver/tls.hpp"

namespace conch::impl {

// check_config has refused what wants it.
std::unique_ptr<tls> make_tls(const config&) { return nullptr; }

bool has_tls() noexcept { return false; }

}  // namespace conch::impl
