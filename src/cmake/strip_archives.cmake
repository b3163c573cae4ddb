# SPDX-License-Identifier: BSL-1.0
# CPack strips programs and shared libraries; this takes the debug information from static ones.
find_program(STRIP strip)
if(STRIP)
    file(GLOB_RECURSE archives "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a")
    foreach(archive IN LISTS archives)
        execute_process(COMMAND "${STRIP}" --strip-debug "${archive}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
endif()
