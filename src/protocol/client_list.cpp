// SPDX-License-Identifier: BSL-1.0
#include "protocol/client_list.hpp"

#include "protocol/lock_protocol.hpp"

#include <charconv>
#include <cstddef>

namespace conch::protocol {
namespace {

/// Takes what stands before the first `separator` away from `text`, which may be all of it.
std::string_view take_until(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return taken;
}

/// The same from the end of `text`.
std::string_view take_back(std::string_view& text, char separator) {
    const std::size_t at = text.rfind(separator);
    const std::size_t begin = at == text.npos ? 0 : at + 1;
    const std::string_view taken = text.substr(begin);
    text.remove_suffix(text.size() - (at == text.npos ? 0 : at));
    return taken;
}

/// Of "id=3 addr=127.0.0.1:35472 name=web ...", the value of one field.
std::string_view field_in(std::string_view line, std::string_view name) {
    while (!line.empty()) {
        std::string_view value = take_until(line, ' ');
        if (take_until(value, '=') == name) {
            return value;
        }
    }
    return {};
}

/// What stands before host, process and id: "conch:billing", "conch", or another name.
std::string_view service_in(std::string_view given) {
    constexpr std::string_view usual = "conch:";
    return given.starts_with(usual) ? given.substr(usual.size())
           : given == "conch"       ? std::string_view{}
                                    : given;
}

}  // namespace

void encode_waiting(const impl::lock_spec& spec, bool sharded, resp::writer& w) {
    if (has_places(spec)) {
        w.command(2).arg("LLEN");
        write_name(w, spec.derived(spec.protocol().queue_prefix));
        return;
    }
    w.command(3).arg("PUBSUB").arg(sharded ? "SHARDNUMSUB" : "NUMSUB");
    write_name(w, spec.channel());
}

// The channel's name and its number; or the number of places.
std::optional<std::uint64_t> read_waiting(const resp::value& reply) {
    const resp::value waiting = reply.is_integer() ? reply : reply.at(1);
    if (!waiting.is_integer() || waiting.integer() < 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(waiting.integer());
}

void encode_client_list(resp::writer& w) { w.command(2).arg("CLIENT").arg("LIST"); }

void locate_holder(lock_status& s, std::string_view client_list) {
    while (!client_list.empty()) {
        const std::string_view line = take_until(client_list, '\n');
        std::string_view name = field_in(line, "name");
        const std::string_view id = take_back(name, ':');
        const std::string_view process = take_back(name, ':');
        const std::string_view host = take_back(name, ':');
        std::int64_t pid = 0;
        const char* const end = process.data() + process.size();
        if (id.size() < 8 || !s.holder.starts_with(id) || host.empty() ||
            std::from_chars(process.data(), end, pid).ptr != end || pid <= 0) {
            continue;
        }
        s.holder_service = service_in(name);
        s.holder_host = host;
        s.holder_pid = pid;
        s.holder_address = field_in(line, "addr");
        return;
    }
}

}  // namespace conch::protocol
