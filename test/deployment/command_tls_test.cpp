// SPDX-License-Identifier: BSL-1.0
// The command over TLS where several servers stand for one, who all want a certificate: what a URL
// can say.
#include "deployment/cluster_group.hpp"
#include "deployment/command_topology.hpp"
#include "deployment/sentinel_group.hpp"
#include "deployment/tls_authority.hpp"

namespace {

using namespace conch::test;

class command_topology_tls : public command_topology {
protected:
    /// The same, and who asks shows this certificate.
    static std::string with_certificate(const std::string& address, const certificate& own) {
        return with_query(address, "cert=" + own.file + "&key=" + own.key);
    }
    /// That nothing is done for who shows none, and why that is said.
    void expect_refusal() const {
        const ended end = to_end({"run", "lock", "--", "echo", "ran"});
        EXPECT_EQ(end.status, 69) << testing::PrintToString(end);
        EXPECT_EQ(end.out, "");
        EXPECT_NE(end.err.find("certificate"), end.err.npos) << end.err;
        EXPECT_EQ(end.err.find(conch_password), end.err.npos) << end.err;
    }
};

TEST_F(command_topology_tls, slow_all_commands_in_a_cluster) {
    const cluster_group group{demanding("IP:127.0.0.1")};
    url = with_user(group.url());
    expect_refusal();
    url = with_certificate(url, authority().issue("DNS:client"));
    expect_all_commands();
}

TEST_F(command_topology_tls, slow_all_commands_by_sentinels) {
    const sentinel_group group{demanding("IP:127.0.0.1")};
    url = with_query(with_user(group.url()), user_of_sentinels());
    expect_refusal();
    url = with_certificate(url, authority().issue("DNS:client"));
    expect_all_commands();
}

}  // namespace
