// SPDX-License-Identifier: BSL-1.0
#include <conch/conch.hpp>

int main() {}
