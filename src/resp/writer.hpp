// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_RESP_WRITER_HPP
#define CONCH_SRC_RESP_WRITER_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace conch::resp {

/// Appends commands to a buffer, as arrays of blob strings: `writer{out}.command(3).arg("SET")...`.
/// The caller gives exactly as many arguments as it announced. They are in the buffer when the
/// writer is gone; where there is no memory for them then, the program ends.
class writer {
public:
    explicit writer(std::string& out) noexcept : out_{out} {}
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;
    ~writer() { flush(); }

    /// Begins a command of `n` arguments, its name included.
    writer& command(std::size_t n);
    /// One argument, of any bytes.
    writer& arg(std::string_view bytes);
    /// One argument, a number in decimal.
    template <std::integral Integer>
    writer& arg(Integer number) {
        if constexpr (std::signed_integral<Integer>) {
            return decimal(static_cast<std::int64_t>(number));
        } else {
            return decimal(static_cast<std::uint64_t>(number));
        }
    }
    /// One argument made of parts, without building it first.
    writer& arg(std::string_view first, std::string_view second, std::string_view third = {});
    /// A whole command that somebody else made.
    writer& words(std::span<const std::string> all);

private:
    template <typename Integer>
    writer& decimal(Integer number);
    char* room(std::size_t n);
    void flush();

    std::string& out_;
    std::array<char, 512> gathered_;  // a string has more work with many small pieces
    char* end_ = gathered_.data();    // of what was gathered
};

}  // namespace conch::resp

#endif
