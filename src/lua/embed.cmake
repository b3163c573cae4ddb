# SPDX-License-Identifier: BSL-1.0
# Writes a C++ file that implements wire/script.hpp with the bytes of Lua scripts and their SHA1.
#
#   cmake "-DSOURCES=a.lua;b.lua" "-DMANY=a" -DTEMPLATE=many.lua.in -DOUTPUT=conch_scripts.cpp
#       -P embed.cmake
#
# For each script that MANY names there is another one, a_many, that runs it for several keys.
# Comment lines and blank lines are left out: the server never gets them, and the SHA1 is that of
# what it does get. A file without an enumerator in script_id, or the reverse, doesn't compile.
cmake_minimum_required(VERSION 3.22)

# Reads a script and leaves only its code.
function(read_script file result)
    file(READ "${file}" text)
    if(text MATCHES "\n@([a-z_]+)@\n")  # the code of another file, NAME.lua.in
        get_filename_component(folder "${file}" DIRECTORY)
        file(READ "${folder}/${CMAKE_MATCH_1}.lua.in" part)
        string(REPLACE "@${CMAKE_MATCH_1}@" "${part}" text "${text}")
    endif()
    if(text MATCHES "\\[=*\\[")
        message(FATAL_ERROR "${file}: long brackets could hide a line that looks like a comment")
    endif()
    string(REPLACE "\r" "" text "${text}")
    string(REGEX REPLACE "\n[ \t]*--[^\n]*" "" text "\n${text}")
    string(REGEX REPLACE "\n([ \t]*\n)+" "\n" text "${text}\n")
    string(REGEX REPLACE "^\n" "" text "${text}")
    if(text STREQUAL "")
        message(FATAL_ERROR "${file}: no code")
    endif()
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

# A raw string delimiter that the text does not contain.
function(find_delimiter text result)
    set(delimiter "lua")
    string(FIND "${text}" ")${delimiter}\"" found)
    while(NOT found EQUAL -1)
        string(APPEND delimiter "_")
        string(FIND "${text}" ")${delimiter}\"" found)
    endwhile()
    set(${result} "${delimiter}" PARENT_SCOPE)
endfunction()

# Adds a script to `definitions` and `cases`.
function(add_script name body)
    string(SHA1 sha1 "${body}")
    find_delimiter("${body}" delimiter)
    string(APPEND definitions "constexpr script ${name}_script{\n    \"${name}\",\n"
        "    R\"${delimiter}(${body})${delimiter}\",\n    \"${sha1}\"};\n\n")
    string(APPEND cases "        case script_id::${name}: return ${name}_script;\n")
    math(EXPR count "${count} + 1")
    set(definitions "${definitions}" PARENT_SCOPE)
    set(cases "${cases}" PARENT_SCOPE)
    set(count "${count}" PARENT_SCOPE)
endfunction()

set(definitions "")
set(cases "")
set(count 0)
read_script("${TEMPLATE}" template)
foreach(file IN LISTS SOURCES)
    get_filename_component(name "${file}" NAME_WE)
    read_script("${file}" body)
    add_script("${name}" "${body}")
    if(name IN_LIST MANY)
        string(REPLACE "@SCRIPT@\n" "${body}" body "${template}")
        add_script("${name}_many" "${body}")
    endif()
endforeach()

file(WRITE "${OUTPUT}" "// SPDX-License-Identifier: BSL-1.0
// Generated from src/lua by src/lua/embed.cmake.
#include \"wire/script.hpp\"

#include <cstdlib>

namespace conch::wire {
namespace {

${definitions}static_assert(script_count == ${count});

}  // namespace

const script& get_script(script_id id) noexcept {
    switch (id) {
${cases}    }
    std::abort();
}

}  // namespace conch::wire
")
