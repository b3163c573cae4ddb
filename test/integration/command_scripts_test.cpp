// SPDX-License-Identifier: BSL-1.0
// The scripts that install, build and show find what was linked into /usr/local/bin, also where
// PATH lacks it.
#include "support/command_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace {

using namespace conch::test;

/// The only programs in PATH are stand-ins: nothing can be installed or built.
class scripts_command_test : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(::symlink("/usr/bin/dirname", (folder.path() + "/dirname").c_str()), 0);
        for (const char* name : {"cmake", "ninja", "ccache", "redis-server"}) {
            stand_in(name, "exit 0");
        }
        stand_in("c++", "echo \"$PATH\" >'" + told + "'");
        // The two that start the script that installs go no further.
        stand_in("bash", "echo \"$PATH\" >'" + told + "'; exit 9");
    }
    /// The PATH of what a script starts, if its own is this.
    std::string path_in(const std::string& script, const std::string& path) const {
        program p{{"/bin/bash", std::string{CONCH_PROGRAM_SOURCES} + "/../../" + script},
                  {{"PATH", path}, {"CXX", ""}}};
        const ended& end = p.finish();
        EXPECT_EQ(end.status, script == "src/install-dependencies.sh" ? 0 : 9) << end.err;
        std::ifstream in{told};
        std::string line;
        std::getline(in, line);
        return line;
    }

    temporary_folder folder{};
    const std::string told = folder.path() + "/told";

private:
    void stand_in(const std::string& name, const std::string& line) const {
        const std::string file = folder.path() + '/' + name;
        std::ofstream{file} << "#!/bin/bash\n" << line << '\n';
        ASSERT_EQ(::chmod(file.c_str(), 0700), 0);
    }
};

const words all_scripts{"src/install-dependencies.sh", "src/quickstart.sh", "test/run.sh"};

TEST_F(scripts_command_test, usr_local_bin_is_searched_last_where_path_lacks_it) {
    for (const std::string& script : all_scripts) {
        EXPECT_EQ(path_in(script, folder.path()), folder.path() + ":/usr/local/bin") << script;
    }
}

TEST_F(scripts_command_test, a_path_that_has_usr_local_bin_is_left_alone) {
    for (const std::string& script : all_scripts) {
        const std::string path = folder.path() + ":/usr/local/bin:/none";
        EXPECT_EQ(path_in(script, path), path) << script;
    }
}

}  // namespace
