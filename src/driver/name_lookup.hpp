// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_NAME_LOOKUP_HPP
#define CONCH_SRC_DRIVER_NAME_LOOKUP_HPP

#include <conch/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace conch::impl {

/// One search for the addresses of a host, on a thread of its own. A search cannot be stopped, and
/// may take long where a name server does not answer. So nobody waits for the thread: neither
/// another search, as on Asio's one thread for a context, nor the end of the client or the program.
/// The thread touches neither of them; it only lets a descriptor become readable.
class name_lookup {
public:
    /// Becomes readable when the search is over.
    using signal = boost::asio::posix::basic_stream_descriptor<boost::asio::any_io_executor>;

    /// Begins it. Throws `system_error` if there is no thread or descriptor for it.
    explicit name_lookup(const std::string& host);

    bool over() const;
    /// Throws `system_error` if there is no descriptor for it.
    void assign_to(signal& s) const;

    // Once it is over.

    error_code error() const;
    const std::vector<boost::asio::ip::address>& addresses() const;

private:
    struct search;
    std::shared_ptr<search> search_;  // the thread's too
};

/// Those of one client that are not over: who looks for the same host again waits for the same
/// search. A host that is tried again and again while its name server is silent takes one thread.
class name_lookups {
public:
    /// As `name_lookup`'s constructor.
    std::shared_ptr<const name_lookup> start(const std::string& host);

private:
    std::map<std::string, std::shared_ptr<const name_lookup>> running_{};
};

}  // namespace conch::impl

#endif
