# cmake -D SOURCE=napkin's source -D WORK=scratch folder -D CXX=compiler -D GENERATOR=name -P cuda_off.cmake
#
# NAPKIN_CUDA=OFF looks for no CUDA, and model/ and solver/ are compiled with and without CUDA by the very same
# commands: what the one tree tests holds for the other. (The preset debug builds and tests all with OFF.)
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
foreach(cuda OFF AUTO)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/${cuda} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX}
            -D NAPKIN_CUDA=${cuda} -D NAPKIN_BUILD_TESTS=OFF -D NAPKIN_BUILD_BENCHMARKS=OFF
            -D CMAKE_EXPORT_COMPILE_COMMANDS=ON
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "NAPKIN_CUDA=${cuda} does not configure:\n${out}")
  endif()
  file(STRINGS ${WORK}/${cuda}/compile_commands.json commands REGEX "\"command\".* (-c|/c) .*/(model|solver)/")
  if(NOT commands)
    message(FATAL_ERROR "no compile command of model/ or solver/ in ${WORK}/${cuda}/compile_commands.json")
  endif()
  string(REPLACE "${WORK}/${cuda}" "" commands_${cuda} "${commands}")
endforeach()

file(STRINGS ${WORK}/OFF/CMakeCache.txt cache REGEX "^(CUDAToolkit|CUDA_|CMAKE_CUDA)")
if(cache)
  message(FATAL_ERROR "NAPKIN_CUDA=OFF looked for CUDA: ${cache}")
endif()
if(commands_OFF MATCHES "[Cc][Uu][Dd][Aa]")
  message(FATAL_ERROR "model/ or solver/ is compiled with something of CUDA:\n${commands_OFF}")
endif()
if(NOT commands_OFF STREQUAL commands_AUTO)
  message(FATAL_ERROR "model/ or solver/ is compiled differently where CUDA is:\n${commands_OFF}\n${commands_AUTO}")
endif()
file(REMOVE_RECURSE ${WORK})
