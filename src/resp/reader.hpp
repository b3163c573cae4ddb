// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_RESP_READER_HPP
#define CONCH_SRC_RESP_READER_HPP

#include "resp/node.hpp"
#include "resp/value.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace conch::resp {

/// Cuts a byte stream into RESP3 messages, incrementally: bytes that were looked at are not looked
/// at again when more arrive, nodes live in one reused vector, nothing is copied. Attributes (`|`)
/// are skipped. Anything malformed, streamed, too deep, too large or with too many nodes is an
/// error, and the reader stays in it until `reset()`.
class reader {
public:
    enum class status { need_more, message, error };

    explicit reader(const limits& l = {});

    /// Looks for one whole message at the beginning of `data`. After `need_more`, the next call's
    /// `data` must begin with the same bytes (at any address), with more behind them. After
    /// `message`, `size()` bytes belong to it; call `next()` and pass what follows them.
    status parse(std::string_view data);

    /// The message that `parse` found; `data` as passed there.
    value get(std::string_view data) const noexcept;
    /// Bytes of the message that `parse` found, a skipped attribute before it included.
    std::size_t size() const noexcept { return position_; }
    /// A short English reason, after `error`.
    const char* reason() const noexcept { return reason_; }

    /// Forgets the message found, keeps the memory.
    void next() noexcept;
    /// Forgets everything, an error too: for a new connection.
    void reset() noexcept;

private:
    struct level {
        std::uint32_t remaining = 0;  // values still to come in this aggregate
        bool attribute = false;
    };

    // All that return bool: false if nothing more can be done with the bytes at hand.
    bool read_line(std::string_view window);
    std::size_t find_line_end(std::string_view window);
    bool read_integer(std::string_view line);
    bool open_blob(kind type, std::string_view line);
    bool read_blob(std::string_view window);
    bool open_aggregate(kind type, std::string_view line);
    bool open_attribute(std::string_view line);
    bool read_count(kind type, std::string_view line, std::uint32_t& children);
    bool fail(const char* reason) noexcept;

    void add_text(kind type, std::size_t offset, std::size_t size);
    void add(const node& n);
    void keep(const node& n);
    void end_value() noexcept;

    limits limits_;
    std::vector<node> nodes_;
    std::vector<level> levels_;
    std::size_t position_ = 0;    // all before it is parsed
    std::size_t scanned_ = 0;     // no line end before it (from position_ on)
    std::size_t announced_ = 1;   // values of this message, those still to come included
    std::size_t attributes_ = 0;  // open levels that are attributes: no node is kept inside one
    std::size_t blob_size_ = 0;
    kind blob_type_{};
    bool in_blob_ = false;  // position_ is at the body of a blob
    status status_ = status::need_more;
    const char* reason_ = "";
};

}  // namespace conch::resp

#endif
