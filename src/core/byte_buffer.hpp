// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_BYTE_BUFFER_HPP
#define CONCH_SRC_CORE_BYTE_BUFFER_HPP

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace conch::core {

/// Bytes received and not yet taken, in one piece.
class byte_buffer {
public:
    /// Room for at least `n` more bytes behind the data; valid until the next call.
    std::span<char> prepare(std::size_t n) {
        if (begin_ == end_) {
            begin_ = end_ = 0;
        }
        if (bytes_.size() - end_ < n) {
            std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
            if (bytes_.size() - end_ < n) {
                bytes_.resize(end_ + n + end_ / 2);
            }
        }
        return {bytes_.data() + end_, bytes_.size() - end_};
    }
    /// The first `n` bytes of what `prepare` gave are data now.
    void commit(std::size_t n) noexcept { end_ += n; }
    std::string_view data() const noexcept { return {bytes_.data() + begin_, end_ - begin_}; }
    std::size_t capacity() const noexcept { return bytes_.capacity(); }
    void consume(std::size_t n) noexcept { begin_ += n; }
    /// Drops the data, and memory beyond the usual.
    void clear() {
        begin_ = end_ = 0;
        if (bytes_.size() > usual) {
            bytes_.resize(usual);
            bytes_.shrink_to_fit();
        }
    }

private:
    static constexpr std::size_t usual = 64u << 10;

    std::vector<char> bytes_ = std::vector<char>(usual);
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace conch::core

#endif
