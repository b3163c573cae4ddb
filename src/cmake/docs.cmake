# SPDX-License-Identifier: BSL-1.0
# `cmake --build build --target docs`: the README, the pages of src/doc and the reference of the
# public headers as one site, in build/docs/html.
find_package(Doxygen 1.9.1)
find_package(Python3 COMPONENTS Interpreter)
if(NOT DOXYGEN_FOUND OR NOT Python3_FOUND)
    return()
endif()
set(pages "${PROJECT_BINARY_DIR}/docs/pages")
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
set(DOXYGEN_USE_MDFILE_AS_MAINPAGE "${pages}/README.md")
file(GLOB pictures CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/results/*.svg"
    "${PROJECT_SOURCE_DIR}/src/doc/pictures/*.svg")
set(DOXYGEN_HTML_EXTRA_FILES ${pictures})
set(DOXYGEN_GENERATE_TREEVIEW YES)
find_file(awesome doxygen-awesome.css PATHS /usr/share/doxygen-awesome-css NO_CACHE)
set(DOXYGEN_HTML_EXTRA_STYLESHEET "${PROJECT_SOURCE_DIR}/src/cmake/site.css")
if(awesome)
    list(PREPEND DOXYGEN_HTML_EXTRA_STYLESHEET "${awesome}")
endif()
add_custom_target(docs_pages
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/src/cmake/site_pages.py"
        "${PROJECT_SOURCE_DIR}" "${pages}")
doxygen_add_docs(docs "${PROJECT_SOURCE_DIR}/include/conch" "${pages}"
    COMMENT "Writing the site to docs/html")
add_dependencies(docs docs_pages)
