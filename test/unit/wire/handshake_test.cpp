// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/link_harness.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

const lines loads{"SCRIPT LOAD acquire",      "SCRIPT LOAD release", "SCRIPT LOAD acquire_many",
                  "SCRIPT LOAD release_many", "SCRIPT LOAD renew",   "SCRIPT LOAD nest",
                  "SCRIPT LOAD status"};

lines with_loads(lines first) {
    first.insert(first.end(), loads.begin(), loads.end());
    return first;
}

/// The lasting reason that the link tells of a greeting that is answered like this, if any.
errc failure_after(const std::string& answer) {
    link_harness h;
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.connected();
    h.sent();
    h.reply(answer);
    EXPECT_FALSE(h.link.ready());
    EXPECT_EQ(h.connection.wanted(), 0u) << "that connection is given up";
    h.link.close();
    return h.news.empty() ? errc{} : static_cast<errc>(std::stoi(h.news.back().substr(5)));
}

TEST(wire_handshake, it_is_hello_info_and_the_scripts) {
    link_harness h;
    note n{plain_note, "x"};
    h.submit(n);
    EXPECT_EQ(h.connect(),
              with_loads({"HELLO 3 SETNAME conch", "INFO replication", "INFO server"}));
    EXPECT_TRUE(h.link.ready());
    EXPECT_EQ(h.news, lines{"ready"});
    h.link.close();
}

TEST(wire_handshake, a_password_without_a_user_is_the_default_users) {
    link_harness h{{.password = "p w", .client_name = ""}};
    note n{plain_note, "x"};
    h.submit(n);
    EXPECT_EQ(h.connect(),
              with_loads({"HELLO 3 AUTH default p w", "INFO replication", "INFO server"}));
    h.link.close();
}

TEST(wire_handshake, user_name_database_and_client_name_are_sent) {
    link_harness h{{.username = "u", .password = "p", .database = 3, .client_name = "n"}};
    note n{plain_note, "x"};
    h.submit(n);
    EXPECT_EQ(h.connect(), with_loads({"HELLO 3 AUTH u p SETNAME n", "SELECT 3", "INFO replication",
                                       "INFO server"}));
    EXPECT_TRUE(h.link.ready());
    h.link.close();
}

TEST(wire_handshake, each_connection_may_be_anothers) {
    link_harness h{{.client_name = ""}};
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.log_in_as({"u", "first"});
    EXPECT_EQ(h.connect(), with_loads({"HELLO 3 AUTH u first", "INFO replication", "INFO server"}));
    h.sent();
    h.connection.broken("reset");
    h.wait_for_attempt();
    h.connection.log_in_as({"", "second"});
    EXPECT_EQ(h.connect(),
              with_loads({"HELLO 3 AUTH default second", "INFO replication", "INFO server"}));
    h.link.close();
}

TEST(wire_handshake, a_wrong_password_is_lasting) {
    EXPECT_EQ(failure_after(error("WRONGPASS invalid username-password pair")),
              errc::authentication_failed);
    EXPECT_EQ(failure_after(error("NOAUTH HELLO must be called with the client authenticated")),
              errc::authentication_failed);
}

TEST(wire_handshake, a_password_that_an_old_server_repeats_is_not_told) {
    link_harness h{{.username = "u", .password = "s3cret"}};
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.connected();
    h.sent();
    h.reply(
        error("ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `u`, "
              "`s3cret`, "));
    EXPECT_EQ(h.words, "ERR unknown command `HELLO`");
    for (const std::string& line : h.logged) {
        EXPECT_EQ(line.find("s3cret"), std::string::npos) << line;
    }
    h.link.close();
}

TEST(wire_handshake, a_server_without_resp3_is_lasting) {
    EXPECT_EQ(failure_after(error("NOPROTO unsupported protocol version")), errc::server_too_old);
    EXPECT_EQ(failure_after(error("ERR unknown command `HELLO`, with args")), errc::server_too_old);
    EXPECT_EQ(failure_after(join("*4\r\n", bulk("proto"), integer(2), bulk("id"), integer(1))),
              errc::server_too_old);
    EXPECT_EQ(failure_after(ok()), errc::server_too_old);
}

TEST(wire_handshake, an_answer_of_another_type_tells_of_no_resp3) {
    for (const std::string& wrong :
         {integer(7), std::string{"_\r\n"}, std::string{"#t\r\n"}, std::string{",1.5\r\n"},
          bulk("proto"), std::string{"*0\r\n"}, std::string{"%0\r\n"}, array(bulk("proto")),
          array(bulk("proto"), bulk("3")), array(bulk("proto"), array(integer(3))),
          array(array(bulk("proto")), integer(3)), array(integer(3), integer(3))}) {
        EXPECT_EQ(failure_after(wrong), errc::server_too_old) << wrong;
    }
}

TEST(wire_handshake, a_user_without_rights_is_lasting) {
    EXPECT_EQ(failure_after(error("NOPERM this user has no permissions to run the 'hello'")),
              errc::permission_denied);
}

TEST(wire_handshake, a_full_or_loading_server_is_tried_again) {
    EXPECT_EQ(failure_after(error("ERR max number of clients reached")), errc{});
    EXPECT_EQ(failure_after(error("LOADING Redis is loading the dataset in memory")), errc{});
}

TEST(wire_handshake, a_refused_database_fails) {
    link_harness h{{.database = 99}};
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.connected();
    h.sent();
    h.reply(hello(1) + error("ERR DB index is out of range"));
    EXPECT_FALSE(h.link.ready());
    EXPECT_EQ(h.words, "ERR DB index is out of range");
    EXPECT_EQ(h.news, lines{join("lost ", static_cast<int>(errc::server_error))});
    h.link.close();
}

TEST(wire_handshake, a_lasting_failure_is_told_and_connecting_goes_on) {
    link_harness h;
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.connected();
    h.sent();
    h.reply(error("WRONGPASS no"));
    EXPECT_EQ(h.news, lines{join("lost ", static_cast<int>(errc::authentication_failed))});
    h.connect();
    EXPECT_TRUE(h.link.ready());
    h.link.close();
}

TEST(wire_handshake, what_info_or_script_load_refuse_is_no_failure) {
    link_harness h;
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.connected();
    h.sent();
    h.reply(hello(1) + error("NOPERM no 'info'") + error("NOPERM no 'info'"));
    for (std::size_t i = 0; i < loads.size(); ++i) {
        EXPECT_FALSE(h.link.ready());
        h.reply(error("NOPERM no 'script|load'"));
    }
    EXPECT_TRUE(h.link.ready());
    h.link.close();
}

TEST(wire_handshake, without_a_run_id_nothing_is_fenced) {
    link_harness h;
    note n{plain_note, "x"};
    h.submit(n);
    h.connect(1, "");
    h.sent();
    h.connection.broken("reset");
    h.connect(2, "");
    EXPECT_EQ(h.sent(), lines{"x"});
    h.link.close();
}

TEST(wire_handshake, a_run_id_without_bounds_is_taken_for_none) {
    for (const std::size_t size : {64u, 65u}) {
        link_harness h;
        note n{plain_note, "x"};
        h.submit(n);
        h.connect(1, std::string(size, '1'));
        h.sent();
        h.connection.broken("reset");
        h.connect(2, std::string(size, '1'));
        EXPECT_EQ(h.sent().size(), size > 64 ? 1u : 2u) << "a known server's connection is ended";
        h.link.close();
    }
}

TEST(wire_handshake, each_byte_of_it_may_come_alone) {
    link_harness h;
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.connected();
    h.sent();
    for (const char byte : greeting(1, "1111")) {
        EXPECT_FALSE(h.link.ready());
        h.reply({byte});
    }
    EXPECT_TRUE(h.link.ready());
    h.link.close();
}

}  // namespace
