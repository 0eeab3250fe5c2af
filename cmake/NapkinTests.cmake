# Turns test sources into programs and CTest tests. A new file needs no edit here: it is found by its place.
#
#   tests/unit/FOLDER/test_*.cpp   napkin_unit_FOLDER, linking the layers up to and including FOLDER (base, diagram, ...)
#   tests/KIND/**/test_*.cpp       napkin_KIND (law, golden, measured, ...), linking everything; the fuzzers' tree, whose
#                                  purpose is crashes, has the laws and the program's bad input (test_cli_bad_input)
#   tests/kernel/run_*.cpp         a program of that name, no test; of tests/measured and tests/law too
#   tests/bench/bench_*.cpp        napkin_bench_*, linking everything and Google Benchmark
#   tests/fuzz/fuzz_*.cpp          napkin_fuzz_*, linking what its line "// links: LAYER" names (else everything)
#
# Each test source is one CTest test ("unit.base.count"), labelled with its kind and folder. Test cases in a
# TEST_SUITE("slow") run apart, as "KIND.slow", labelled slow, which the presets leave out; those decorated
# doctest::test_suite("compiling") as "KIND.compiling", labelled once: their time is the CUDA compiler's, which a sanitizer
# of our own code does not look into.
#
# The target `everyday` builds the programs of the kinds below and what they run, and CTest's label of that name picks
# their tests: what script/test builds and runs without --all.
set(NAPKIN_EVERYDAY unit law golden measured published emulator)
# Kinds whose sources are one CTest test ("published.all"): they share what takes longest, the answers to published rows.
set(NAPKIN_TOGETHER published)
add_custom_target(everyday)

# The target that tests link for everything there is.
set(NAPKIN_EVERYTHING napkin_apps_napkin)

function(napkin_test_target target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NEEDS_PROGRAM" "PREFIX" "SOURCES;LINKS;LABELS")
  add_executable(${target} ${arg_SOURCES})
  napkin_own_target(${target})
  napkin_compile_as(${target} test)
  target_compile_definitions(${target} PRIVATE
    NAPKIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    NAPKIN_BINARY_DIR="${PROJECT_BINARY_DIR}"
    NAPKIN_BINARY="${PROJECT_BINARY_DIR}/napkin"
    NAPKIN_CXX="${CMAKE_CXX_COMPILER}")
  target_link_libraries(${target} PRIVATE ${arg_LINKS} napkin::embedded napkin_test_main)
  if(TARGET rapidcheck)
    target_link_libraries(${target} PRIVATE rapidcheck)
    target_compile_definitions(${target} PRIVATE NAPKIN_HAVE_RAPIDCHECK=1)
  endif()
  if(arg_NEEDS_PROGRAM AND TARGET napkin)
    add_dependencies(${target} napkin)
  endif()

  list(GET arg_LABELS 0 kind)
  if(kind IN_LIST NAPKIN_EVERYDAY)
    add_dependencies(everyday ${target})
    list(APPEND arg_LABELS everyday)
  endif()

  set(apart "slow*")
  foreach(source IN LISTS arg_SOURCES)
    file(STRINGS ${source} compiling REGEX "test_suite\\(\"compiling\"\\)")
    if(compiling)
      set(apart "slow*,compiling*")
    endif()
  endforeach()
  if(kind IN_LIST NAPKIN_TOGETHER)
    napkin_ctest(${arg_PREFIX}.all "${arg_LABELS}" COMMAND ${target} "--test-suite-exclude=${apart}")
    set_tests_properties(${arg_PREFIX}.all PROPERTIES COST 50)
    set(arg_SOURCES)
  endif()
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
    napkin_ctest(${arg_PREFIX}.${name} "${arg_LABELS}"
      COMMAND ${target} "--source-file=*/${path}" "--test-suite-exclude=${apart}")
  endforeach()
  napkin_ctest(${arg_PREFIX}.slow "${arg_LABELS};slow" COMMAND ${target} "--test-suite=slow*")
  if(apart MATCHES "compiling")
    napkin_ctest(${arg_PREFIX}.compiling "${arg_LABELS};once" COMMAND ${target} "--test-suite=compiling*")
  endif()
endfunction()

function(napkin_ctest name labels)
  add_test(NAME ${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES
    LABELS "${labels}"
    TIMEOUT 600
    SKIP_REGULAR_EXPRESSION "(^|\n)SKIP")
  # Long ones first, where CTest has not timed them yet: none of them runs alone at the end.
  if(name MATCHES "^(law|emulator)\\.|\\.compiling$")
    set_tests_properties(${name} PROPERTIES COST 50)
  endif()
  if("slow" IN_LIST labels)
    set_tests_properties(${name} PROPERTIES TIMEOUT 14400)
  endif()
endfunction()

# tests/unit: one program per second folder, which is named after a source folder.
function(napkin_unit_tests)
  get_property(layers GLOBAL PROPERTY NAPKIN_LAYERS)
  foreach(layer IN LISTS layers ITEMS kernels)
    get_filename_component(folder ${layer} NAME)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${folder}/test_*.cpp)
    if(sources)
      if(layer IN_LIST layers)
        napkin_layer_target(${layer} links)
      else()
        set(links ${NAPKIN_EVERYTHING})
      endif()
      set(needs_program)
      if(layer MATCHES "^apps/")
        set(needs_program NEEDS_PROGRAM)
      endif()
      napkin_test_target(napkin_unit_${folder} PREFIX unit.${folder} LABELS unit ${folder}
        SOURCES ${sources} LINKS ${links} ${needs_program})
    endif()
    list(APPEND known ${folder})
  endforeach()

  # A misplaced test must not be silently left out.
  file(GLOB_RECURSE all CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests/unit ${PROJECT_SOURCE_DIR}/tests/unit/test_*.cpp)
  foreach(source IN LISTS all)
    string(REGEX REPLACE "/.*" "" folder ${source})
    if(NOT folder IN_LIST known)
      message(FATAL_ERROR "tests/unit/${source}: '${folder}' is no source folder; known: ${known}")
    endif()
  endforeach()
endfunction()

# tests/KIND: one program.
function(napkin_tests kind)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${kind}/test_*.cpp)
  if(NAPKIN_BUILD_FUZZERS AND NOT kind STREQUAL "law")
    list(FILTER sources INCLUDE REGEX "/test_cli_bad_input")
  endif()
  if(sources)
    napkin_test_target(napkin_${kind} PREFIX ${kind} LABELS ${kind}
      SOURCES ${sources} LINKS ${NAPKIN_EVERYTHING} napkin_test_cli NEEDS_PROGRAM)
  endif()
endfunction()

# tests/kernel/run_*.cpp, tests/measured/run_*.cpp, tests/law/run_*.cpp: developers' programs, also for a machine with a
# GPU or many cores, which may have none of our libraries: they look for them beside themselves too.
function(napkin_kernel_programs)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/kernel/run_*.cpp ${PROJECT_SOURCE_DIR}/tests/measured/run_*.cpp
    ${PROJECT_SOURCE_DIR}/tests/law/run_*.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    napkin_own_target(${name})
    napkin_compile_as(${name} test)
    target_link_libraries(${name} PRIVATE napkin_apps_report napkin_apps_library nlohmann_json::nlohmann_json CLI11::CLI11)
    set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN")
  endforeach()
endfunction()

function(napkin_benchmarks)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/bench/bench_*.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    set(target napkin_${name})
    add_executable(${target} ${source})
    napkin_own_target(${target})
    target_compile_definitions(${target} PRIVATE
      NAPKIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      NAPKIN_BINARY="${PROJECT_BINARY_DIR}/napkin")
    target_link_libraries(${target} PRIVATE ${NAPKIN_EVERYTHING} benchmark::benchmark benchmark::benchmark_main)
    if(TARGET napkin)
      add_dependencies(${target} napkin)
    endif()
    # The benchmarks at least run, but those that take seconds; for numbers, run the program itself, alone.
    string(REGEX REPLACE "^bench_" "" name ${name})
    napkin_ctest(bench.${name} bench COMMAND ${target} --benchmark_min_time=0.001
      "--benchmark_filter=-(making_of_a_table|exhaustive|many_selections|tiles_of_one_question|further_selection|first_selection.*causal:1|(ranking|whole_answer).*(d:64|d:256|mask:1|mask:2)|select_command.*(d:128|d:256|s:512|s:4096|causal:1))")
  endforeach()
endfunction()

# Each header alone, with what its own layer may use: napkin_headers_model_base, ...; all of them: header_check. A header
# with a source of its name is left out: build.layers sees to it that the source includes it first, and so shows that it
# stands alone where sources are compiled one by one (preset debug), and build.includes sees to it everywhere.
function(napkin_header_check)
  add_custom_target(header_check)
  get_property(layers GLOBAL PROPERTY NAPKIN_LAYERS)
  foreach(layer IN LISTS layers)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${layer}/*.hpp)
    set(sources)
    foreach(header IN LISTS headers)
      string(REGEX REPLACE "hpp$" "cpp" own ${PROJECT_SOURCE_DIR}/${header})
      if(EXISTS ${own})
        continue()
      endif()
      set(source ${PROJECT_BINARY_DIR}/header_check/${header}.cpp)
      # Twice, so that a missing include guard shows.
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
      list(APPEND sources ${source})
    endforeach()
    if(sources)
      napkin_layer_target(${layer} target)
      string(REPLACE "/" "_" name ${layer})
      add_library(napkin_headers_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
      napkin_own_target(napkin_headers_${name})
      target_compile_options(napkin_headers_${name} PRIVATE -O0 -g0)
      target_link_libraries(napkin_headers_${name} PRIVATE ${target} napkin_embedded)
      add_dependencies(header_check napkin_headers_${name})
    endif()
  endforeach()
endfunction()
