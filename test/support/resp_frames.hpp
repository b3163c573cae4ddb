// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_RESP_FRAMES_HPP
#define CONCH_TEST_SUPPORT_RESP_FRAMES_HPP

#include <cstddef>
#include <string_view>

namespace conch::test {

/// The length of the RESP3 value that these bytes begin with, with all that is in it; 0 if its end
/// isn't there yet. For what a healthy server says; shares no code with the client's reader.
std::size_t frame_length(std::string_view bytes);

}  // namespace conch::test

#endif
