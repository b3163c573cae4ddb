// SPDX-License-Identifier: BSL-1.0
// Compiles with a warning: whether it is an error is for the user's project to say.
int main() { int unused = 0; }
