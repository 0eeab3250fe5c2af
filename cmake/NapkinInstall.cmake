# cmake --install: the program, the libraries, the headers and the package that find_package(napkin) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(includes ${CMAKE_INSTALL_INCLUDEDIR})
get_property(layers GLOBAL PROPERTY NAPKIN_LAYERS)
set(targets napkin_embedded)
foreach(layer IN LISTS layers)
  # What other projects link: apps/library and all it stands on. The program's own folders stay at home.
  if(layer MATCHES "^apps/(report|napkin)$")
    continue()
  endif()
  napkin_layer_target(${layer} target)
  list(APPEND targets ${target})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${layer}/*.hpp)
  if(layer STREQUAL "kernels/runtime")  # the structs that host and device share
    file(GLOB_RECURSE shared CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/kernels/*.cuh)
    list(APPEND headers ${shared})
  endif()
  foreach(header IN LISTS headers)
    get_filename_component(folder napkin/${header} DIRECTORY)
    # The public headers are <napkin/NAME.hpp>; where they lie in the source tree is no user's concern.
    string(REPLACE "napkin/apps/library/include/" "" folder ${folder})
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${includes}/${folder})
  endforeach()
endforeach()
install(TARGETS ${targets} EXPORT napkin
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET napkin)
  install(TARGETS napkin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/napkin)
install(EXPORT napkin NAMESPACE napkin:: FILE napkin-targets.cmake DESTINATION ${package})

set(NAPKIN_FIND_DEPENDENCIES "")
foreach(dependency IN LISTS NAPKIN_DEPENDENCIES)
  if(NOT dependency MATCHES "^CLI11 ")  # the program's alone
    string(APPEND NAPKIN_FIND_DEPENDENCIES "find_dependency(${dependency})\n")
  endif()
endforeach()
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/napkin-config.cmake.in ${PROJECT_BINARY_DIR}/package/napkin-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/napkin-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/package/napkin-config.cmake
  ${PROJECT_BINARY_DIR}/package/napkin-config-version.cmake
  DESTINATION ${package})
