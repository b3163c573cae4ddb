// SPDX-License-Identifier: BSL-1.0
#include "core/log.hpp"
#include "driver/client_core.hpp"
#include "driver/tls.hpp"
#include "driver/tls_stream.hpp"

#include <boost/asio/ssl/context.hpp>

#include <openssl/ssl.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace conch::impl {
namespace {

namespace ssl = boost::asio::ssl;

[[noreturn]] void refuse(std::string_view setting, const std::string& path,
                         const std::string& why) {
    throw std::invalid_argument{"conch::config: tls." + std::string{setting} + " \"" + path +
                                "\": " + why};
}

/// OpenSSL's own errors do not tell a file that is missing from one that is not PEM.
void need_readable(std::string_view setting, const std::string& path, bool folder) {
    struct stat found{};
    int error = ::stat(path.c_str(), &found) == 0 ? 0 : errno;
    if (error == 0 && S_ISDIR(found.st_mode) != folder) {
        error = folder ? ENOTDIR : EISDIR;
    }
    if (error == 0 && ::access(path.c_str(), folder ? R_OK | X_OK : R_OK) != 0) {
        error = errno;
    }
    if (error != 0) {
        refuse(setting, path, std::generic_category().message(error));
    }
}

/// Calls `use(path, error)` if there is a path.
template <typename Use>
void load(std::string_view setting, const std::string& path, Use use) {
    if (path.empty()) {
        return;
    }
    need_readable(setting, path, setting == "ca_path");
    error_code bad;
    use(path, bad);
    if (bad) {
        refuse(setting, path, bad.message());
    }
}

void trust(ssl::context& context, const tls_options& o) {
    context.set_verify_mode(o.verify ? ssl::verify_peer : ssl::verify_none);
    load("ca_file", o.ca_file,
         [&](const std::string& p, error_code& bad) { context.load_verify_file(p, bad); });
    load("ca_path", o.ca_path,
         [&](const std::string& p, error_code& bad) { context.add_verify_path(p, bad); });
    if (o.verify && o.ca_file.empty() && o.ca_path.empty()) {
        context.set_default_verify_paths();
    }
}

std::unique_ptr<ssl::context> make_context(const tls_options& o) {
    auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
    SSL_CTX* const native = context->native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    ::SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
    trust(*context, o);
    // Nobody is there to be asked for the password of a key.
    context->set_password_callback([](std::size_t, ssl::context::password_purpose) { return ""; });
    load("certificate_file", o.certificate_file, [&](const std::string& p, error_code& bad) {
        context->use_certificate_chain_file(p, bad);
    });
    load("private_key_file", o.private_key_file, [&](const std::string& p, error_code& bad) {
        context->use_private_key_file(p, ssl::context::pem, bad);
    });
    return context;
}

/// What the files were when they were read.
class file_state {
public:
    static file_state of(const tls_options& o) {
        file_state s;
        const std::array<const std::string*, 3> files{&o.ca_file, &o.certificate_file,
                                                      &o.private_key_file};
        for (std::size_t i = 0; i < files.size(); ++i) {
            struct stat now{};
            if (!files[i]->empty() && ::stat(files[i]->c_str(), &now) == 0) {
                s.files_[i] = {now.st_ino, now.st_size, now.st_mtim.tv_sec, now.st_mtim.tv_nsec};
            }
        }
        return s;
    }
    bool operator==(const file_state&) const = default;

private:
    std::array<std::tuple<ino_t, off_t, time_t, long>, 3> files_{};
};

class tls_context final : public tls {
public:
    explicit tls_context(const config& settings)
        : options_{*settings.tls},
          log_{settings.log, settings.least_log_level},
          read_{file_state::of(options_)},
          context_{make_context(options_)} {}

    std::shared_ptr<stream> make_stream(client_core& home, std::size_t place, std::uint64_t number,
                                        const std::string& host) override {
        if (!options_.verify && !std::exchange(warned_, true)) {
            log_(log_level::warning, "TLS: the server's certificate is not verified");
        }
        refresh();
        return std::make_shared<tls_stream>(home, place, number, host, *context_);
    }

private:
    void refresh() {
        const file_state now = file_state::of(options_);
        if (now == read_) {
            told_.clear();
            return;
        }
        try {
            context_ = make_context(options_);
            read_ = now;
            told_.clear();
        } catch (const std::exception& e) {  // half of the files may be there: the next time
            const bool is_news = std::exchange(told_, e.what()) != e.what();
            log_(is_news ? log_level::warning : log_level::debug,
                 "TLS: the former certificates stay in use: ", e.what());
        }
    }

    tls_options options_;
    core::log log_;
    file_state read_;
    std::string told_{};  // why they could not be read
    std::unique_ptr<ssl::context> context_;
    bool warned_ = false;
};

}  // namespace

std::unique_ptr<tls> make_tls(const config& settings) {
    return settings.tls ? std::make_unique<tls_context>(settings) : nullptr;
}

bool has_tls() noexcept { return true; }

}  // namespace conch::impl
