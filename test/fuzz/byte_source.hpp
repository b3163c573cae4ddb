// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_FUZZ_BYTE_SOURCE_HPP
#define CONCH_TEST_FUZZ_BYTE_SOURCE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace conch::fuzz {

/// The input of a fuzz target, taken from its front. After its end there are zeros.
class byte_source {
public:
    byte_source(const std::uint8_t* data, std::size_t size) noexcept
        : rest_{reinterpret_cast<const char*>(data), size} {}

    bool empty() const noexcept { return rest_.empty(); }
    unsigned byte() noexcept {
        if (rest_.empty()) {
            return 0;
        }
        const auto b = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        return b;
    }
    /// Less than `n`, from one byte.
    std::size_t below(std::size_t n) noexcept { return n == 0 ? 0 : byte() % n; }
    std::string_view bytes(std::size_t n) noexcept {
        const std::string_view out = rest_.substr(0, n);
        rest_.remove_prefix(out.size());
        return out;
    }
    std::string_view rest() noexcept { return bytes(rest_.size()); }

private:
    std::string_view rest_;
};

}  // namespace conch::fuzz

#endif
