# napkin_revision(target): gives the target source_revision() (apps/library/revision.hpp). Asked of git at every build;
# what depends on it is made anew only where the answer changed. -D NAPKIN_REVISION=... says it where there is no git.

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
  file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"#include \"apps/library/revision.hpp\"

namespace napkin {

std::string_view source_revision() { return \"@REVISION@\"; }

}  // namespace napkin
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
  add_dependencies(${target} napkin_revision_source)
endfunction()
