// SPDX-License-Identifier: BSL-1.0
#include <conch/client.hpp>

#include "api/check_config.hpp"
#include "driver/client_core.hpp"
#include "driver/identity.hpp"

#include <conch/printable.hpp>

namespace conch {
namespace {

impl::client_core& own(const impl::core_ptr& core) noexcept {
    return static_cast<impl::client_core&>(*core);
}

}  // namespace

client::client(boost::asio::any_io_executor executor, config settings, impl::this_build) {
    impl::check_config(settings);
    core_ = std::make_shared<impl::client_core>(std::move(executor), std::move(settings),
                                                impl::random_uuid(), impl::random_seed());
}

client& client::operator=(client&& other) noexcept {
    if (this != &other) {
        if (core_) {
            own(core_).abandon();
        }
        core_ = std::move(other.core_);
    }
    return *this;
}

client::~client() {
    if (core_) {
        own(core_).abandon();
    }
}

stats client::stats() const { return own(core_).report().counters(); }

std::string client::last_server_error() const {
    return printable(own(core_).report().last_words());
}

std::string client::last_deadlock() const { return printable(own(core_).report().last_deadlock()); }

const std::string& client::id() const noexcept { return own(core_).id(); }

boost::asio::any_io_executor client::get_executor() const noexcept { return core_->executor(); }

}  // namespace conch
