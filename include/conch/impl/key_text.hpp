// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_KEY_TEXT_HPP
#define CONCH_IMPL_KEY_TEXT_HPP

#include <charconv>
#include <concepts>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

// Arguments of a call as parts of a key.
namespace conch::impl {

template <typename T>
concept key_string = std::convertible_to<const T&, std::string_view>;

template <typename T>
concept key_number = std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/// `to_string` of the argument's own namespace.
template <typename T>
concept key_named = requires(const T& v) {
    { to_string(v) } -> std::convertible_to<std::string>;
};

/// What can be written to a stream, but for what points elsewhere: its address is no name.
template <typename T>
concept key_streamed =
    requires(std::ostream& out, const T& v) { out << v; } && !requires(const T& v) { *v; } &&
    !std::is_pointer_v<T> && !std::is_member_pointer_v<T> && !std::convertible_to<const T&, bool>;

template <typename T>
void append_key_number(std::string& key, T number) {
    char digits[64];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), number);
    key.append(std::begin(digits), end.ptr);
}

template <typename T>
void append_key(std::string& key, const T& part) {
    if constexpr (key_string<T>) {
        key.append(std::string_view{part});
    } else if constexpr (std::same_as<T, bool>) {
        key.append(part ? "true" : "false");
    } else if constexpr (std::same_as<T, char>) {
        key.push_back(part);
    } else if constexpr (key_number<T>) {
        append_key_number(key, part);
    } else if constexpr (key_named<T>) {
        key.append(std::string{to_string(part)});
    } else if constexpr (std::is_enum_v<T>) {
        append_key_number(key, static_cast<std::underlying_type_t<T>>(part));
    } else {
        constexpr bool writable = key_streamed<T>;
        static_assert(writable,
                      "conch: this argument can't be written as a part of the key: give it a "
                      "to_string() or operator<<, or give a function that makes the key instead of "
                      "a prefix");
        if constexpr (writable) {
            std::ostringstream out;
            out.imbue(std::locale::classic());
            out << part;
            key.append(out.str());
        }
    }
}
template <typename T>
void append_key(std::string& key, const std::reference_wrapper<T>& part) {
    append_key<std::remove_const_t<T>>(key, part.get());
}

/// `prefix:part:part`.
template <typename... Parts>
std::string joined_key(std::string_view prefix, const Parts&... parts) {
    std::string key{prefix};
    ((key.push_back(':'), append_key(key, parts)), ...);
    return key;
}

}  // namespace conch::impl

#endif
