// SPDX-License-Identifier: BSL-1.0
// What ThreadSanitizer must not report, each with its reason. Built in, so that it holds however
// the program is started; no other build calls it.

extern "C" const char* __tsan_default_suppressions();

// Asio counts references with a release and, before it deletes, std::atomic_thread_fence(acquire),
// which GCC's sanitizer doesn't follow (its -Wtsan says so): the deletion looks like a race with
// another thread's last count.
//
// An exception's count is atomic, but counted in libstdc++'s shared object, which isn't
// instrumented: the exception of a future looks freed under the thread that still reads it.
extern "C" const char* __tsan_default_suppressions() {
    return "race:boost::asio::detail::ref_count_down\n"
           "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
