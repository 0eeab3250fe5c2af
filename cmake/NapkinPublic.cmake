# napkin_library(face): the library napkin::napkin (libnapkin.a) of the face's layer and all that was declared before it,
# here as in the installed package. Its headers are FACE/include/napkin; no other header is needed or installed.

# The text of a header with the headers of the layers that it includes written into it, each once. `from` gathers their
# paths.
function(napkin_written_out header from result)
  set(files "${${from}}")
  file(READ ${PROJECT_SOURCE_DIR}/${header} text)
  string(REPLACE "#pragma once\n" "" text "${text}")
  string(REGEX MATCHALL "#include \"[^\"\n]+\"\n" lines "${text}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#include \"(.+)\"\n" "\\1" path "${line}")
    set(inner "")
    if(NOT path IN_LIST files)
      list(APPEND files ${path})
      napkin_written_out(${path} files inner)
    endif()
    string(REPLACE "${line}" "${inner}" text "${text}")
  endforeach()
  set(${from} "${files}" PARENT_SCOPE)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# types.hpp, which alone includes headers of the layers, as it is installed; made anew where one of those changes.
function(napkin_public_types face result)
  set(files ${face}/include/napkin/types.hpp)
  napkin_written_out(${files} files text)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(out ${PROJECT_BINARY_DIR}/package/types.hpp)
  file(WRITE ${out} "#pragma once\n${text}")
  set(${result} ${out} PARENT_SCOPE)
endfunction()

function(napkin_library face)
  set(objects $<TARGET_OBJECTS:napkin_embedded>)
  get_property(layers GLOBAL PROPERTY NAPKIN_LAYERS)
  foreach(layer IN LISTS layers)
    napkin_layer_target(${layer} target)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endif()
  endforeach()
  add_library(libnapkin STATIC ${objects})
  add_library(napkin::napkin ALIAS libnapkin)
  set_target_properties(libnapkin PROPERTIES OUTPUT_NAME napkin EXPORT_NAME napkin LINKER_LANGUAGE CXX)
  target_compile_features(libnapkin PUBLIC cxx_std_20)
  # Of the build's libraries those that have code: the others are headers, which no header of the face includes.
  target_link_libraries(libnapkin PRIVATE fmt::fmt yaml-cpp::yaml-cpp ${CMAKE_DL_LIBS})
  target_include_directories(libnapkin INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${face}/include>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(NOT NAPKIN_INSTALL)
    set_target_properties(libnapkin PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()

  napkin_public_types(${face} types)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${face}/include/napkin/*.hpp)
  list(REMOVE_ITEM headers ${PROJECT_SOURCE_DIR}/${face}/include/napkin/types.hpp)
  install(FILES ${headers} ${types} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/napkin)
  install(TARGETS libnapkin EXPORT napkin ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
