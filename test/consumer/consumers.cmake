# SPDX-License-Identifier: BSL-1.0
# The user's program, for each language standard, whatever the library's own is.
set(CMAKE_CXX_EXTENSIONS OFF)
foreach(standard IN ITEMS 20 23)
    add_executable(consumer_${standard} "${CMAKE_CURRENT_LIST_DIR}/program/main.cpp")
    set_target_properties(consumer_${standard} PROPERTIES
        CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON)
    target_link_libraries(consumer_${standard} PRIVATE conch::conch)
endforeach()
