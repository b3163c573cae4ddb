# SPDX-License-Identifier: BSL-1.0
# What `cmake --install` brings.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/conch")

# The library, in both kinds, and its headers.
foreach(target IN ITEMS conch conch_other_kind)
    get_target_property(kind ${target} EXPORT_NAME)
    install(TARGETS ${target} EXPORT conch-${kind}-targets)
    install(EXPORT conch-${kind}-targets NAMESPACE conch:: DESTINATION "${package_dir}")
endforeach()
install(DIRECTORY include/conch DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.hpp")

foreach(component IN ITEMS prometheus opentelemetry)
    if(TARGET conch_${component})
        install(TARGETS conch_${component} EXPORT conch-${component}-targets)
        install(EXPORT conch-${component}-targets NAMESPACE conch:: DESTINATION "${package_dir}")
    endif()
endforeach()

# For find_package. An older Boost than the library's own is refused there; any other than its own
# makes a link error (conch/impl/built_with.hpp).
set(conch_boost_version "${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}")
configure_package_config_file(src/conch-config.cmake.in conch-config.cmake
    INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(conch-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/conch-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/conch-config-version.cmake" DESTINATION "${package_dir}")

# For pkg-config. Boost has no file of its own there: its library is named, and its folders where
# the compiler doesn't know them.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(folder IN ITEMS LIBDIR INCLUDEDIR)
    set(pc_${folder} "${CMAKE_INSTALL_${folder}}")
    if(NOT IS_ABSOLUTE "${pc_${folder}}")
        string(PREPEND pc_${folder} "\${prefix}/")
    endif()
endforeach()
set(pc_boost_cflags)
if(NOT Boost_INCLUDE_DIRS IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    set(pc_boost_cflags "-isystem \"${Boost_INCLUDE_DIRS}\" ")
endif()
set(pc_boost_libs "-lboost_url")
get_target_property(boost_url Boost::url LOCATION)
get_filename_component(boost_url_folder "${boost_url}" REALPATH)
get_filename_component(boost_url_folder "${boost_url_folder}" DIRECTORY)
if(NOT boost_url_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    string(PREPEND pc_boost_libs "-L\"${boost_url_folder}\" ")
endif()
set(pc_requires_private)
if(CONCH_TLS)
    set(pc_requires_private "openssl")
endif()
configure_file(src/cmake/conch.pc.in conch.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/conch.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The program, with what belongs to it.
if(TARGET conch_program)
    if(BUILD_SHARED_LIBS)
        file(RELATIVE_PATH bin_to_lib
            "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
        set_target_properties(conch_program PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    endif()
    install(TARGETS conch_program)
    install(FILES src/cli/conch.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
    install(FILES src/cli/completion/conch.bash RENAME conch
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
    install(FILES src/cli/completion/_conch
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()
set(documents "${CMAKE_INSTALL_DATADIR}/doc/conch")
install(FILES src/cmake/copyright README.md DESTINATION "${documents}")
# As in the sources, so that links between them hold.
install(DIRECTORY src/doc DESTINATION "${documents}/src")
install(DIRECTORY test/examples DESTINATION "${documents}/test" FILES_MATCHING PATTERN "*.cpp")
install(DIRECTORY bench/results DESTINATION "${documents}/bench" FILES_MATCHING PATTERN "*.svg")
