// SPDX-License-Identifier: BSL-1.0
// Runs a fuzz target on files, and on all files of folders: for compilers without libFuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

void replay(const fs::path& file) {
    std::printf("%s\n", file.string().c_str());
    std::fflush(stdout);
    std::ifstream in{file, std::ios::binary};
    if (!in) {
        throw std::runtime_error{"can not read " + file.string()};
    }
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const std::vector<std::uint8_t> bytes{text.begin(), text.end()};
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::size_t replay_all(const fs::path& path) {
    if (!fs::is_directory(path)) {
        replay(path);
        return 1;
    }
    std::size_t files = 0;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator{path}) {
        if (entry.is_regular_file()) {
            replay(entry.path());
            ++files;
        }
    }
    return files;
}

}  // namespace

int main(int argc, char** argv) try {
    std::size_t files = 0;
    for (int i = 1; i < argc; ++i) {
        files += replay_all(argv[i]);
    }
    std::printf("%zu files\n", files);
    return files > 0 ? 0 : 1;  // an empty corpus proves nothing
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
