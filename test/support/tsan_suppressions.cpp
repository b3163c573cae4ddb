// SPDX-License-Identifier: BSL-1.0
// What ThreadSanitizer takes for races in the tests.

/// The standard library counts the references to an exception in code that ThreadSanitizer doesn't
/// see: it misses that a future's exception is freed after its last use on another thread.
extern "C" const char* __tsan_default_suppressions();  // NOLINT: the runtime's name
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libstdc++.so\n"; }
