// SPDX-License-Identifier: BSL-1.0
#include "driver/identity.hpp"

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <random>

namespace conch::impl {

std::string random_uuid() {
    boost::uuids::random_generator_pure generate;
    return boost::uuids::to_string(generate());
}

std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
}

}  // namespace conch::impl
