// SPDX-License-Identifier: BSL-1.0
// The command over TLS: what a URL can say.
#include "support/command_fixture.hpp"
#include "support/tls_test.hpp"

namespace {

using namespace conch::test;

class command_tls_test : public tls_test {
protected:
    /// The command, at this server with this query.
    ended to_end(std::vector<std::string> words, const std::string& query) {
        const std::string url = "rediss://conch:" + std::string{conch_password} + "@127.0.0.1:" +
                                std::to_string(server.port()) + query;
        words.insert(words.begin(), CONCH_PROGRAM_PATH);
        program p{words, {{"CONCH_REDIS", url}}};
        return p.finish();
    }
    ended status(const std::string& query) { return to_end({"status", "lock"}, query); }
    std::string trusted() { return "?cacert=" + authority().file(); }
};

TEST_F(command_tls_test, a_url_names_the_CA) {
    const ended end = status(trusted());
    EXPECT_EQ(end.status, 0) << end.err;
    expect_in("free", end.out);
}

TEST_F(command_tls_test, what_is_wrong_with_the_certificate_is_said) {
    show(authority().issue("DNS:elsewhere"));
    const ended end = status(trusted());
    EXPECT_EQ(end.status, 69);
    expect_one_line(end.err);
    expect_in("rediss://127.0.0.1:", end.err);
    expect_in("is not made for 127.0.0.1", end.err);
    const ended careless = status(trusted() + "&insecure=true");
    EXPECT_EQ(careless.status, 0) << careless.err;
}

TEST_F(command_tls_test, that_nobody_is_verified_is_logged) {
    const ended end = to_end({"run", "-v", "lock", "--", "true"}, "?insecure=true");
    EXPECT_EQ(end.status, 0) << end.err;
    expect_in("verif", end.err);
}

TEST_F(command_tls_test, a_file_that_is_not_there_is_a_wrong_command_line) {
    const ended end = status("?cacert=/nowhere/ca.crt");
    EXPECT_EQ(end.status, 64);
    expect_one_line(end.err);
    expect_in("/nowhere/ca.crt\": No such file or directory", end.err);
    EXPECT_EQ(end.err.find(conch_password), std::string::npos);
}

TEST_F(command_tls_test, a_query_that_is_none_is_a_wrong_command_line) {
    const ended end = status("?cafile=/a");
    EXPECT_EQ(end.status, 64);
    expect_one_line(end.err);
    expect_in("cacert, cacertdir, cert, key and sni", end.err);
}

}  // namespace
