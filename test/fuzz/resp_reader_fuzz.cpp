// SPDX-License-Identifier: BSL-1.0
// The first byte chooses how the others are cut and limited; a reader must make the same of them
// as of the whole.
#include "../unit/resp_describe.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr conch::resp::limits tight{.max_depth = 3, .max_bytes = 64, .max_nodes = 16};
constexpr conch::resp::limits wide{.max_depth = 8, .max_bytes = 1u << 16, .max_nodes = 1u << 10};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::size_t step = 1 + data[0] % 64u;
    const conch::resp::limits& l = data[0] < 128 ? wide : tight;
    const std::string_view stream{reinterpret_cast<const char*>(data + 1), size - 1};
    std::vector<std::size_t> cuts;
    for (std::size_t cut = step; cut < stream.size(); cut += step) {
        cuts.push_back(cut);
    }
    if (conch::test::read_all(stream, cuts, l) != conch::test::read_all(stream, {}, l)) {
        std::abort();
    }
    return 0;
}
