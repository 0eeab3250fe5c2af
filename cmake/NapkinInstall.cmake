# cmake --install: the program, and the package that find_package(napkin) finds around what napkin_library() installs.
include(CMakePackageConfigHelpers)

if(TARGET napkin)
  add_dependencies(napkin libnapkin)  # so that building the program is enough to install
  install(TARGETS napkin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/napkin)
install(EXPORT napkin NAMESPACE napkin:: FILE napkin-targets.cmake DESTINATION ${package})

set(NAPKIN_FIND_DEPENDENCIES "")
foreach(dependency IN LISTS NAPKIN_DEPENDENCIES)
  if(dependency MATCHES "^(fmt|yaml-cpp) ")  # linked; the others are headers, needed to build alone
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
