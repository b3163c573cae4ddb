# SPDX-License-Identifier: BSL-1.0
# `cmake --build build --target docs`: the reference of the public headers, in build/docs/html.
find_package(Doxygen 1.9.1)
if(NOT DOXYGEN_FOUND)
    return()
endif()
set(DOXYGEN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/docs")
set(DOXYGEN_STRIP_FROM_PATH "${PROJECT_SOURCE_DIR}/include")
set(DOXYGEN_STRIP_FROM_INC_PATH "${PROJECT_SOURCE_DIR}/include")
set(DOXYGEN_EXCLUDE_PATTERNS "*/conch/impl/*")
set(DOXYGEN_EXCLUDE_SYMBOLS conch::impl "conch::impl::*" boost "boost::*")
# A comment's first sentence is its summary, and it speaks of parameters in its own words.
set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
set(DOXYGEN_WARN_NO_PARAMDOC NO)
set(DOXYGEN_WARN_IF_UNDOCUMENTED YES)
set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
set(DOXYGEN_QUIET YES)
set(DOXYGEN_BUILTIN_STL_SUPPORT YES)
set(DOXYGEN_HAVE_DOT NO)
set(DOXYGEN_GENERATE_LATEX NO)
doxygen_add_docs(docs "${PROJECT_SOURCE_DIR}/include/conch"
    COMMENT "Writing the reference to docs/html")
