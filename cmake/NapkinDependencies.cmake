# Finds the libraries that Napkin stands on. The same list becomes the find_dependency() calls of the installed package.
set(NAPKIN_DEPENDENCIES
  "Eigen3 3.4 CONFIG"
  "Boost 1.74 CONFIG"
  "fmt 9 CONFIG"
  "nlohmann_json 3.11 CONFIG"
  "CLI11 CONFIG"
  "yaml-cpp CONFIG")

option(NAPKIN_FETCH "Fetch fmt and yaml-cpp where they are not installed, and link them statically (wheels)" OFF)

# napkin_fetch(name repository tag [VARIABLE value]...): the library from its own source, as a part of this build.
function(napkin_fetch name repository tag)
  include(FetchContent)
  FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ON SYSTEM)
  set(BUILD_SHARED_LIBS OFF)
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # an option() leaves our variables alone
  while(ARGN)
    list(POP_FRONT ARGN variable value)
    set(${variable} ${value})
  endwhile()
  FetchContent_GetProperties(${name})
  if(NOT ${name}_POPULATED)
    FetchContent_Populate(${name})
    add_subdirectory(${${name}_SOURCE_DIR} ${${name}_BINARY_DIR} EXCLUDE_FROM_ALL SYSTEM)
  endif()
endfunction()

if(NAPKIN_FETCH)
  find_package(fmt 9 CONFIG QUIET)
  if(NOT fmt_FOUND)
    napkin_fetch(fmt https://github.com/fmtlib/fmt.git 9.1.0 FMT_INSTALL OFF FMT_DOC OFF FMT_TEST OFF)
    list(FILTER NAPKIN_DEPENDENCIES EXCLUDE REGEX "^fmt ")
  endif()
  find_package(yaml-cpp CONFIG QUIET)
  if(NOT yaml-cpp_FOUND)
    napkin_fetch(yaml-cpp https://github.com/jbeder/yaml-cpp.git 0.8.0
      YAML_CPP_BUILD_TESTS OFF YAML_CPP_BUILD_TOOLS OFF YAML_CPP_BUILD_CONTRIB OFF YAML_CPP_INSTALL OFF YAML_BUILD_SHARED_LIBS OFF)
    list(FILTER NAPKIN_DEPENDENCIES EXCLUDE REGEX "^yaml-cpp ")
  endif()
endif()

foreach(dependency IN LISTS NAPKIN_DEPENDENCIES)
  separate_arguments(dependency)
  find_package(${dependency} REQUIRED)
endforeach()

# yaml-cpp 0.7 exports yaml-cpp, 0.8 yaml-cpp::yaml-cpp.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  set_target_properties(yaml-cpp::yaml-cpp PROPERTIES INTERFACE_LINK_LIBRARIES yaml-cpp)
endif()
