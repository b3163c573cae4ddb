// SPDX-License-Identifier: BSL-1.0
#include <conch/with_lock.hpp>

namespace conch::impl {

template boost::asio::awaitable<void> run_locked_section<void>(mutex, section_terms,
                                                               body_ptr<void>);

}  // namespace conch::impl
