# cmake -D BUILD=napkin's build tree -D SOURCE=napkin's source -D WORK=scratch folder -D CXX=compiler -D FLAGS=flags
#       -D GENERATOR=name -P consumer.cmake
#
# Installs Napkin, moves the installation away, and configures, builds and runs the example consumer against it; then
# configures the consumer with Napkin as a subproject.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed: ${command}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)

# Nothing installed may point back into the tree that it was built in.
file(GLOB_RECURSE package ${WORK}/prefix/*.cmake)
if(NOT package)
  message(FATAL_ERROR "no CMake package was installed")
endif()
foreach(file IN LISTS package)
  file(READ ${file} text)
  foreach(path ${SOURCE} ${BUILD})
    string(FIND "${text}" "${path}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${file} mentions ${path}")
    endif()
  endforeach()
endforeach()

set(consumer ${SOURCE}/tests/build/consumer)
set(common -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX} "-D CMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} -S ${consumer} -B ${WORK}/installed ${common} -D CMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/installed)
run(${WORK}/installed/consumer)
message(STATUS "${out}")

run(${CMAKE_COMMAND} -S ${consumer} -B ${WORK}/subproject ${common} -D NAPKIN_SUBPROJECT=${SOURCE})
file(STRINGS ${WORK}/subproject/CMakeCache.txt cache REGEX "^NAPKIN_(INSTALL|BUILD_TESTS|WERROR):BOOL=ON")
if(cache)
  message(FATAL_ERROR "a subproject must not turn these on: ${cache}")
endif()
file(REMOVE_RECURSE ${WORK})
