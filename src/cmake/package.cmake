# SPDX-License-Identifier: BSL-1.0
# `cpack --config build/CPackConfig.cmake -G DEB`: one Debian package, of all that is installed.
if(NOT CONCH_INSTALL)
    return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME conch)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_VENDOR "the authors of conch")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/src/cmake/strip_archives.cmake")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CPACK_PACKAGE_VENDOR} <conch@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Asynchronous C++20 programs take locks on a Redis server that they share with
others: leases renewed by a watchdog, waiting that is pushed and not polled,
fencing tokens, Redisson's format.

Holds the library (static and shared), its headers, and the program conch.")

# For packages that link to the shared library; and ldconfig, after installing and removing.
set(control_folder "${PROJECT_BINARY_DIR}/debian")
file(WRITE "${control_folder}/shlibs" "libconch ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} "
    "conch (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${control_folder}/shlibs")
foreach(script IN ITEMS postinst postrm)
    configure_file(src/cmake/ldconfig.sh "${control_folder}/${script}" COPYONLY)
    list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${control_folder}/${script}")
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What the programs need at run time is found out by dpkg-shlibdeps; what the headers need, by
# asking whose files Boost's are.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
find_program(DPKG_QUERY dpkg-query)
if(DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
endif()
if(DPKG_QUERY)
    get_target_property(boost_url Boost::url LOCATION)
    get_filename_component(boost_url_folder "${boost_url}" DIRECTORY)
    set(needed)
    set(files "${Boost_INCLUDE_DIRS}/boost/version.hpp" "${boost_url_folder}/libboost_url.so")
    if(CONCH_TLS)
        list(APPEND files "${OPENSSL_SSL_LIBRARY}")
    endif()
    foreach(file IN LISTS files)
        execute_process(COMMAND "${DPKG_QUERY}" --search "${file}"
            OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE failed)
        if(NOT failed)
            string(REGEX REPLACE ":.*" "" owner "${owner}")
            list(APPEND needed "${owner}")
        endif()
    endforeach()
    list(JOIN needed ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
endif()
include(CPack)
