# napkin_tables(program): the tables of the bundled kernels, made by the program itself at every build that changes what
# they depend on (a minute or two), beside it in tables/ and installed with it. Without them the first question of each
# kind takes a second.

option(NAPKIN_TABLES "Make the tables of the bundled kernels with the build" ON)

# Where the target looks for them, wherever the program that it is linked into lies.
function(napkin_table_folders target)
  include(GNUInstallDirs)
  target_compile_definitions(${target} PRIVATE
    NAPKIN_BUILT_TABLES="${PROJECT_BINARY_DIR}/tables"
    NAPKIN_INSTALLED_TABLES="${CMAKE_INSTALL_FULL_DATADIR}/napkin/tables")
endfunction()

function(napkin_tables program)
  if(NOT NAPKIN_TABLES)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/tables)
  set(made ${PROJECT_BINARY_DIR}/tables.made)
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
    COMMAND ${program} tables --out ${folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${made}
    DEPENDS ${PROJECT_BINARY_DIR}/revision/table_digest ${PROJECT_SOURCE_DIR}/apps/napkin/tables.cpp
    COMMENT "Making the tables of the bundled kernels"
    VERBATIM)
  add_custom_target(tables ALL DEPENDS ${made})
  add_dependencies(tables ${program})
endfunction()
