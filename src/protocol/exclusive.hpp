// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_EXCLUSIVE_HPP
#define CONCH_SRC_PROTOCOL_EXCLUSIVE_HPP

#include "protocol/lock_protocol.hpp"

// What locks with one holder have in common: their scripts take the same and answer the same.
namespace conch::protocol::exclusive {

/// The scripts of one kind of lock, and the names that are its own.
struct names {
    const char* type_name;
    std::string_view channel_prefix;
    std::string_view fence_key_prefix;
    wire::script_pair acquire;
    wire::script_pair release;
    wire::script_id renew;
    wire::script_id nest;
    wire::script_id status;
};

/// 0 if the text is no number.
std::uint64_t number_in(std::string_view text) noexcept;

wire::joint_script acquire_form(const acquire_request& r);
void acquire_keys(const acquire_request& r, resp::writer& w);
void acquire_args(const acquire_request& r, resp::writer& w);
acquire_answer read_acquire(const impl::lock_spec& spec, const resp::value& reply);

wire::joint_script release_form(const release_request& r);
void release_keys(const release_request& r, resp::writer& w);
void release_args(const release_request& r, resp::writer& w);
release_answer read_release(const resp::value& reply);

void renew_keys(const renew_item& i, resp::writer& w);
void renew_args(const renew_item& i, resp::writer& w);
renew_answer read_renew(const resp::value& reply);

void encode_nest(const wire::call& c, const nest_request& r, resp::writer& w);
nest_answer read_nest(const resp::value& reply);

void encode_status(const wire::call& c, const status_request& r, resp::writer& w);
std::optional<lock_status> read_status(const resp::value& reply);

constexpr lock_protocol protocol_of(const names& n) {
    return {
        .type_name = n.type_name,
        .channel_prefix = n.channel_prefix,
        .fence_key_prefix = n.fence_key_prefix,
        .acquire = n.acquire,
        .release = n.release,
        .renew = n.renew,
        .nest = n.nest,
        .status = n.status,
        .acquire_form = &acquire_form,
        .acquire_keys = &acquire_keys,
        .acquire_args = &acquire_args,
        .acquire_alone = nullptr,
        .read_acquire = &read_acquire,
        .release_form = &release_form,
        .release_keys = &release_keys,
        .release_args = &release_args,
        .release_alone = nullptr,
        .read_release = &read_release,
        .renew_keys_each = 1,
        .renew_args_each = 2,
        .renew_keys = &renew_keys,
        .renew_args = &renew_args,
        .read_renew = &read_renew,
        .encode_nest = &encode_nest,
        .read_nest = &read_nest,
        .encode_status = &encode_status,
        .read_status = &read_status,
    };
}

}  // namespace conch::protocol::exclusive

#endif
