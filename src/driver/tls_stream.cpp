// SPDX-License-Identifier: BSL-1.0
#include "driver/tls_stream.hpp"

#include "driver/client_core.hpp"
#include "driver/tls_failure.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/write.hpp>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <new>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

}  // namespace

tls_stream::tls_stream(client_core& home, std::size_t place, std::uint64_t number,
                       const std::string& host, asio::ssl::context& context)
    : stream{home, place, number},
      strand_{home.io_executor()},
      ssl_{socket_, context},
      name_{server_name_of(*home.settings().tls, host)} {
    name_server();
}

// An address is no name for SNI, and is compared with other entries of the certificate.
void tls_stream::name_server() {
    SSL* const ssl = ssl_.native_handle();
    error_code no_address;
    const asio::ip::address address = asio::ip::make_address(name_, no_address);
    const auto expect = [&](const auto& bytes) {
        return ::X509_VERIFY_PARAM_set1_ip(::SSL_get0_param(ssl), bytes.data(), bytes.size()) == 1;
    };
    bool good = false;
    if (!no_address) {
        good = address.is_v4() ? expect(address.to_v4().to_bytes())
                               : expect(address.to_v6().to_bytes());
    } else {
        ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        good = SSL_set_tlsext_host_name(ssl, name_.c_str()) == 1 &&
               ::SSL_set1_host(ssl, name_.c_str()) == 1;
    }
    if (!good) {
        throw std::bad_alloc{};
    }
}

// Runs `f` on the strand; stream and client are there until it is done.
template <typename Function>
void tls_stream::on_strand(Function f) {
    asio::dispatch(strand_,
                   [self = shared_from_this(), home = home_.shared_from_this(), f] { f(); });
}

// A handler of the TLS stream: the same, with the stream itself.
template <typename Function>
auto tls_stream::then(Function f) {
    return asio::bind_executor(strand_, [self = shared_from_this(), home = home_.shared_from_this(),
                                         f](error_code ec, std::size_t n = 0) { f(self, ec, n); });
}

void tls_stream::opened() {
    opening_.run = &tls_stream::shaken;
    on_strand([this] {
        if (closed_) {
            return;
        }
        ssl_.async_handshake(asio::ssl::stream_base::client,
                             then([this](const auto& self, error_code ec, std::size_t) {
                                 usable_ = !ec;
                                 verdict_ = ::SSL_get_verify_result(ssl_.native_handle());
                                 end(opening_, self, ec);
                             }));
    });
}

void tls_stream::shaken(event& e) {
    auto& ended = static_cast<ending&>(e);
    const std::shared_ptr<stream> kept = std::move(ended.of);
    auto& self = static_cast<tls_stream&>(*kept);
    if (ended.ec) {
        self.fail(ended.ec);
    } else {
        self.home_.on_connected(self);
    }
}

void tls_stream::fail(error_code ec) {
    const config& settings = home_.settings();
    const tls_failure why = explain_tls(ec, verdict_, *settings.tls, name_);
    const bool lasting = why.lasting && !heard_;
    home_.on_broken(*this, ec, why.words, lasting ? errc::tls_failed : errc{});
}

void tls_stream::read() {
    on_strand([this] {
        if (closed_) {
            return;
        }
        ssl_.async_read_some(asio::buffer(received_),
                             then([this](const auto& self, error_code ec, std::size_t n) {
                                 usable_ = usable_ && !ec;
                                 end(reading_, self, ec, n);
                             }));
    });
}

void tls_stream::have_read(error_code ec, std::size_t n) {
    if (left_) {
        return;
    }
    if (ec) {
        fail(ec);  // the first time, too: in TLS 1.3 the server judges a certificate only now
    } else {
        heard_ = true;
        const auto space = home_.input_space(*this, n);
        std::copy_n(received_.begin(), n, space.begin());
        home_.on_read(*this, n);
    }
}

void tls_stream::write() {
    writing_ = true;
    on_strand([this] {
        if (closed_) {
            return;
        }
        sending_now_ = true;
        asio::async_write(ssl_, asio::buffer(output_),
                          then([this](const auto& self, error_code ec, std::size_t n) {
                              sending_now_ = false;
                              usable_ = usable_ && !ec;
                              end(sending_, self, ec, n);
                          }));
    });
}

void tls_stream::have_written(error_code ec, std::size_t) {
    if (ec && !heard_) {
        return;  // who reads will hear why the server hung up
    }
    writing_ = false;
    output_.clear();
    if (ec) {
        fail(ec);
    } else {
        home_.on_written(*this);
    }
}

void tls_stream::close() noexcept {
    stop_connecting();
    on_strand([this] {
        closed_ = true;
        say_goodbye();
        error_code ignored;
        socket_.close(ignored);
    });
}

// What goes out at once goes out: the socket is closed next, which ends all that waits for it.
void tls_stream::say_goodbye() {
    if (usable_ && !sending_now_) {
        ssl_.async_shutdown(then([](const auto&, error_code, std::size_t) {}));
    }
}

}  // namespace conch::impl
