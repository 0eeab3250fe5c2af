# napkin_python(folder): the package `napkin` of Python, whose module _core binds the library (folder/*.cpp). It lands in
# build/python, to be imported from there, and is installed as component python (pip's build asks for that one alone).

set(NAPKIN_PYTHON AUTO CACHE STRING "Build the Python package: AUTO (when Python and nanobind are found), ON or OFF")
set_property(CACHE NAPKIN_PYTHON PROPERTY STRINGS AUTO ON OFF)
if(NOT NAPKIN_PYTHON MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "NAPKIN_PYTHON is '${NAPKIN_PYTHON}'; it must be AUTO, ON or OFF")
endif()

set(napkin_have_python OFF)
if(NOT NAPKIN_PYTHON STREQUAL "OFF" AND PROJECT_IS_TOP_LEVEL)
  set(environment ${PROJECT_SOURCE_DIR}/build/environment/bin/python)  # script/bootstrap makes it, with nanobind
  if(NOT SKBUILD AND NOT Python_EXECUTABLE AND EXISTS ${environment})
    set(Python_EXECUTABLE ${environment})
  endif()
  set(component)
  if(SKBUILD_SABI_COMPONENT)
    set(component OPTIONAL_COMPONENTS ${SKBUILD_SABI_COMPONENT})
  endif()
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module ${component})
  if(Python_FOUND AND NOT nanobind_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_VARIABLE nanobind_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(Python_FOUND AND nanobind_DIR)
    find_package(nanobind CONFIG QUIET PATHS ${nanobind_DIR} NO_DEFAULT_PATH)
  endif()
  if(nanobind_FOUND)
    set(napkin_have_python ON)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # what the module links is all that there is
    if(SKBUILD)  # a wheel has no function that nothing calls
      add_compile_options(-ffunction-sections -fdata-sections)
      add_link_options(-Wl,--gc-sections)
    endif()
  elseif(NAPKIN_PYTHON STREQUAL "ON")
    message(FATAL_ERROR "NAPKIN_PYTHON is ON, and Python's headers (python3-dev) or nanobind (pip install nanobind) are missing")
  endif()
endif()

function(napkin_python folder)
  if(NOT napkin_have_python)
    return()
  endif()
  set(package ${PROJECT_BINARY_DIR}/python/napkin)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  nanobind_add_module(napkin_apps_python STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE ${sources})
  napkin_own_target(napkin_apps_python)
  napkin_compile_as(napkin_apps_python cold)
  set_target_properties(napkin_apps_python PROPERTIES
    OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${package} UNITY_BUILD OFF INSTALL_RPATH "")
  target_compile_definitions(napkin_apps_python PRIVATE NAPKIN_VERSION="${PROJECT_VERSION}")
  target_link_libraries(napkin_apps_python PRIVATE napkin::apps_napkin)
  # Nothing of ours, or of the libraries that are linked in, is for other modules of the process.
  target_link_options(napkin_apps_python PRIVATE -Wl,--exclude-libs,ALL)

  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${folder}/napkin
    ${PROJECT_SOURCE_DIR}/${folder}/napkin/*.py ${PROJECT_SOURCE_DIR}/${folder}/napkin/*.pyi
    ${PROJECT_SOURCE_DIR}/${folder}/napkin/py.typed)
  foreach(file IN LISTS files)
    configure_file(${PROJECT_SOURCE_DIR}/${folder}/napkin/${file} ${package}/${file} COPYONLY)
    get_filename_component(inside ${file} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/${folder}/napkin/${file} DESTINATION napkin/${inside}
      COMPONENT python EXCLUDE_FROM_ALL)
  endforeach()
  nanobind_add_stub(napkin_apps_python_stub
    MODULE napkin._core OUTPUT ${package}/_core.pyi PYTHON_PATH ${PROJECT_BINARY_DIR}/python
    PATTERN_FILE ${PROJECT_SOURCE_DIR}/${folder}/stub.txt DEPENDS napkin_apps_python)
  add_custom_target(napkin_package DEPENDS napkin_apps_python napkin_apps_python_stub)
  # Of a wheel: the kernels of usual questions, compiled where NVRTC is found.
  add_custom_target(napkin_usual_kernels
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python
      ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/${folder}/usual_kernels.py ${PROJECT_BINARY_DIR}/compiled_kernels
    COMMENT "Compiling the kernels of usual questions"
    VERBATIM)
  add_dependencies(napkin_usual_kernels napkin_apps_python)
  if(SKBUILD)
    add_dependencies(napkin_package napkin_usual_kernels)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/compiled_kernels DESTINATION napkin COMPONENT python EXCLUDE_FROM_ALL)
  endif()
  install(TARGETS napkin_apps_python LIBRARY DESTINATION napkin COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES ${package}/_core.pyi DESTINATION napkin COMPONENT python EXCLUDE_FROM_ALL)
endfunction()

# tests/python by pytest, on the package as the build leaves it. What is not there is skipped, and said.
function(napkin_python_tests)
  if(NOT napkin_have_python)
    napkin_ctest(python.package python COMMAND ${CMAKE_COMMAND} -E echo
      "SKIP python: Python's headers or nanobind were not found (NAPKIN_PYTHON=${NAPKIN_PYTHON}; script/bootstrap installs them)")
    return()
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import pytest" RESULT_VARIABLE none OUTPUT_QUIET ERROR_QUIET)
  if(none)
    napkin_ctest(python.package python COMMAND ${CMAKE_COMMAND} -E echo "SKIP python: ${Python_EXECUTABLE} has no pytest")
    return()
  endif()
  napkin_ctest(python.package python COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider ${PROJECT_SOURCE_DIR}/tests/python)
  set_tests_properties(python.package PROPERTIES
    ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;NAPKIN_PROGRAM=${PROJECT_BINARY_DIR}/napkin;PYTHONDONTWRITEBYTECODE=1")
endfunction()
