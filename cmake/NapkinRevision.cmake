# napkin_revision(target): gives the target source_revision() and source_digest()
# (apps/library/question/revision.hpp). Git is asked and the files are hashed at every build; what depends on the answer is made
# anew only where it changed. -D NAPKIN_REVISION=... says the revision where there is no git.

set(NAPKIN_REVISION "" CACHE STRING "Source revision to record in measurements; empty: ask git")

if(CMAKE_SCRIPT_MODE_FILE)  # run by the build: SOURCE, OUT, REVISION
  cmake_minimum_required(VERSION 3.25)
  if(NOT REVISION)
    execute_process(COMMAND git describe --always --dirty --tags WORKING_DIRECTORY ${SOURCE}
      OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT REVISION MATCHES "^[-._+/A-Za-z0-9]+$")
    set(REVISION unknown)
  endif()
  # digest(variable patterns...): hash of the files that match, and of their names.
  function(digest variable)
    list(TRANSFORM ARGN PREPEND ${SOURCE}/)
    file(GLOB_RECURSE files RELATIVE ${SOURCE} ${ARGN})
    list(FILTER files EXCLUDE REGEX "\\.md$|/judge/data/")  # what judges predictions makes none
    list(SORT files)
    set(hashes "")
    foreach(file IN LISTS files)
      file(SHA256 ${SOURCE}/${file} hash)
      string(APPEND hashes "${file} ${hash}\n")
    endforeach()
    string(SHA256 hash "${hashes}")
    set(${variable} ${hash} PARENT_SCOPE)
  endfunction()
  digest(DIGEST model/* solver/* kernels/* hardware_profiles/* apps/library/*)
  file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"#include \"apps/library/question/revision.hpp\"

namespace napkin::internal {

std::string_view source_revision() { return \"@REVISION@\"; }
std::string_view source_digest() { return \"@DIGEST@\"; }

}  // namespace napkin::internal
")
  return()
endif()

function(napkin_revision target)
  set(out ${PROJECT_BINARY_DIR}/revision/revision.cpp)
  add_custom_target(napkin_revision_source
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUT=${out} "-D REVISION=${NAPKIN_REVISION}"
            -P ${PROJECT_SOURCE_DIR}/cmake/NapkinRevision.cmake
    BYPRODUCTS ${out}
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
  set_source_files_properties(${out} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # made anew at every commit
  add_dependencies(${target} napkin_revision_source)
endfunction()
