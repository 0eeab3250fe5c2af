# Finds the libraries that Napkin stands on. The same list becomes the find_dependency() calls of the installed package.
set(NAPKIN_DEPENDENCIES
  "Eigen3 3.4 CONFIG"
  "Boost 1.74 CONFIG"
  "fmt 9 CONFIG"
  "nlohmann_json 3.11 CONFIG"
  "CLI11 CONFIG"
  "yaml-cpp CONFIG")

foreach(dependency IN LISTS NAPKIN_DEPENDENCIES)
  separate_arguments(dependency)
  find_package(${dependency} REQUIRED)
endforeach()

# yaml-cpp 0.7 exports yaml-cpp, 0.8 yaml-cpp::yaml-cpp.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  set_target_properties(yaml-cpp::yaml-cpp PROPERTIES INTERFACE_LINK_LIBRARIES yaml-cpp)
endif()
