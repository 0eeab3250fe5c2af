# napkin_compile_as(target KIND): how a target is optimised, by what it holds; and, where NAPKIN_PRECOMPILE is on, the
# libraries' most included headers come to it parsed already (a quarter of clang's compile time). None of ours do: with
# them a source would see names that it never asked for.
#
#   code   as the build type says: what a search runs for each of its tiles
#   cold   what a question runs a few times: its compile time is what is felt, under a sanitizer most of all. g++ takes
#          two thirds of the time under -Og
#   test   compile time is the larger part of a test's time. In the fuzzers' tree only what the tests test is sanitized,
#          the tests themselves in the debug preset
#
# Where NAPKIN_UNITY is on, sixteen sources are compiled at a time: the names of a folder's sources, those in their
# unnamed namespaces too, must differ (a test source is a namespace of its own).
#
# A source that lacks an #include may compile all the same with either. What is checked of it where: script/test.

option(NAPKIN_UNITY "Compile a target's sources sixteen at a time" OFF)
option(NAPKIN_PRECOMPILE "Parse common headers once; hides a missing #include" OFF)

set(napkin_headers_code
  <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <cstdio> <cstdlib> <cstring> <filesystem> <fstream> <functional>
  <limits> <map> <memory> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <tuple>
  <unordered_map> <utility> <variant> <vector>)
set(napkin_headers_cold ${napkin_headers_code} <fmt/format.h> <nlohmann/json.hpp>)
set(napkin_headers_test ${napkin_headers_code} <doctest/doctest.h>)

function(napkin_compile_as target kind)
  napkin_kind_options(${target} ${kind})
  if(NAPKIN_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
  if(NAPKIN_PRECOMPILE)
    napkin_precompiled_target(${kind} parsed)
    target_precompile_headers(${target} REUSE_FROM ${parsed})
  endif()
endfunction()

function(napkin_kind_options target kind)
  set(cold_options $<IF:$<BOOL:${NAPKIN_BUILD_FUZZERS}>,-O0,-Og>)
  set(test_options -O0 $<$<BOOL:${NAPKIN_BUILD_FUZZERS}>:-fno-sanitize=all>)
  target_compile_options(${target} PRIVATE ${${kind}_options})
  # g++ looks for garbage in what sixteen sources take, again and again: 8 % of its time for a fifth of the memory.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1000000)
  endif()
  # clang takes a neighbour's constant for one that a parameter hides.
  if(NAPKIN_UNITY AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wno-shadow)
  endif()
endfunction()

# The target that has a kind's headers parsed: a compiler takes them only under the options that it parsed them with.
function(napkin_precompiled_target kind result)
  set(target napkin_precompiled_${kind})
  if(NOT TARGET ${target})
    set(nothing ${PROJECT_BINARY_DIR}/precompiled/${kind}.cpp)
    file(CONFIGURE OUTPUT ${nothing} CONTENT "")
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${nothing})
    napkin_own_target(${target})
    napkin_kind_options(${target} ${kind})
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_link_libraries(${target} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    if(kind STREQUAL "test")
      target_link_libraries(${target} PRIVATE napkin_test_main)
    endif()
    target_precompile_headers(${target} PRIVATE ${napkin_headers_${kind}})
  endif()
  set(${result} ${target} PARENT_SCOPE)
endfunction()
