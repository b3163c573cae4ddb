// SPDX-License-Identifier: BSL-1.0
#include "support/certificates.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace conch::test {
namespace {

using words = std::vector<std::string>;

const words new_key{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"};

words operator+(words all, const words& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

certificate_authority::certificate_authority() {
    std::ofstream{in("index")};
    std::ofstream{in("ca.cnf")} << "[ca]\ndefault_ca = own\n[own]\n"
                                << "new_certs_dir = " << folder_.path() << '\n'
                                << "database = " << in("index") << '\n'
                                << "rand_serial = yes\n"
                                   "default_md = sha256\n"
                                   "default_days = 2\n"
                                   "policy = names\n"
                                   "copy_extensions = copy\n"
                                   "unique_subject = no\n"
                                   "[names]\ncommonName = supplied\n";
    openssl(
        words{"req", "-x509"} + new_key +
        words{"-keyout", in("ca.key"), "-out", file_, "-subj", "/CN=CA of a test", "-days", "2"});
}

certificate certificate_authority::issue(const std::string& names, const validity& when) {
    const std::string name = in(std::to_string(++issued_));
    const certificate made{name + ".crt", name + ".key"};
    openssl(words{"req", "-new"} + new_key +
            words{"-keyout", made.key, "-out", name + ".csr", "-subj", "/CN=of a test", "-addext",
                  "subjectAltName=" + names});
    words sign{"ca",       "-batch",     "-notext", "-config",     in("ca.cnf"), "-cert",  file_,
               "-keyfile", in("ca.key"), "-in",     name + ".csr", "-out",       made.file};
    if (!when.from.empty()) {
        sign = sign + words{"-startdate", when.from, "-enddate", when.until};
    }
    openssl(sign);
    return made;
}

std::string certificate_authority::hashed_folder() {
    const std::string folder = in("trusted");
    std::filesystem::create_directory(folder);
    std::filesystem::copy_file(file_, folder + "/ca.pem",
                               std::filesystem::copy_options::overwrite_existing);
    openssl({"rehash", folder});
    return folder;
}

void certificate_authority::openssl(const words& arguments) const {
    program p{words{"/usr/bin/env", "openssl"} + arguments};
    const ended& end = p.finish();
    if (end.status != 0) {
        throw std::runtime_error{"openssl " + arguments.front() + ": " + end.err};
    }
}

}  // namespace conch::test
