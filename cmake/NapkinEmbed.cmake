# napkin_embed(patterns...)
#
# The library napkin::embedded: the files that match, as a table in the program (model/base/embedded.hpp), written by
# cmake/embed.cpp. A new, a removed and an edited file each remake the table. Patterns are recursive.

function(napkin_embed)
  set(patterns ${ARGN})
  list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
  list(SORT files)
  list(REMOVE_DUPLICATES files)

  set(folder ${PROJECT_BINARY_DIR}/embedded)
  set(list ${folder}/files.txt)
  set(generated ${folder}/embedded.cpp)
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)  # written only when it changes

  add_executable(napkin_embed ${PROJECT_SOURCE_DIR}/cmake/embed.cpp)
  napkin_own_target(napkin_embed)
  target_link_libraries(napkin_embed PRIVATE napkin_model_base)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND napkin_embed ${PROJECT_SOURCE_DIR} ${list} ${generated}
    DEPENDS ${list} ${files} napkin_embed
    COMMENT "Embedding YAML files and kernel sources"
    VERBATIM)

  add_library(napkin_embedded STATIC ${generated})
  add_library(napkin::embedded ALIAS napkin_embedded)
  napkin_own_target(napkin_embedded)
  target_compile_options(napkin_embedded PRIVATE -Wno-overlength-strings)
  target_compile_features(napkin_embedded PUBLIC cxx_std_20)
  target_include_directories(napkin_embedded PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()
