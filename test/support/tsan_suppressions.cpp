// SPDX-License-Identifier: BSL-1.0
// What ThreadSanitizer must not report of tests with futures. Built in, so that it holds however
// the program is started; no other build calls it.

extern "C" const char* __tsan_default_suppressions();

// An exception's count is atomic, but counted in libstdc++'s shared object, which isn't
// instrumented: the exception of a future looks freed under the thread that still reads it. Named
// by the object, as the freeing frame has no other name there; it hides what else runs in there.
extern "C" const char* __tsan_default_suppressions() {
    return "race:std::__exception_ptr::exception_ptr::_M_release\n"
           "called_from_lib:libstdc++.so\n";
}
