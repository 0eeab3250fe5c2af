# Switches of the build, and napkin_own_target(): what every target of ours (and no other) is compiled with.

set(NAPKIN_CUDA AUTO CACHE STRING "Use CUDA: AUTO (when found), ON (required) or OFF (not looked for)")
set_property(CACHE NAPKIN_CUDA PROPERTY STRINGS AUTO ON OFF)

option(NAPKIN_INSTALL "Make install rules and the CMake package" ${PROJECT_IS_TOP_LEVEL})
option(NAPKIN_BUILD_TESTS "Build the tests (needs doctest)" ${PROJECT_IS_TOP_LEVEL})
option(NAPKIN_BUILD_BENCHMARKS "Build the benchmarks, where Google Benchmark is found" ${PROJECT_IS_TOP_LEVEL})
option(NAPKIN_BUILD_FUZZERS "Build the fuzzers (needs clang's libFuzzer; see preset fuzz)" OFF)
option(NAPKIN_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})

# LLVM's linker links a test's program in a third of the time.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld NAPKIN_HAS_LLD)
if(NAPKIN_HAS_LLD AND PROJECT_IS_TOP_LEVEL)
  add_link_options(-fuse-ld=lld)
endif()

function(napkin_own_target target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(NAPKIN_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 and 13 report an impossible overlap in "literal" + std::string (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      # GCC 13 takes a reference out of a const & argument for one into a temporary (GCC bug 107532).
      target_compile_options(${target} PRIVATE -Wno-dangling-reference)
    endif()
    if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_DEBUG}" MATCHES "-fsanitize")
      # GCC's flow analyses misfire on instrumented code, as its manual says.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()
