# napkin_layer(folder [ONLY folders...] [PUBLIC libraries...] [PRIVATE libraries...])
#
# The library of one source folder: model/base gives target napkin_model_base, alias napkin::model_base. It links the
# layers declared before it (or just those after ONLY). A folder without a .cpp is an INTERFACE library.
# A folder's main.cpp is left out: napkin_program() makes the program of it. Layers are for the build alone: projects
# that use Napkin link the one library that napkin_library() makes of them.

define_property(GLOBAL PROPERTY NAPKIN_LAYERS BRIEF_DOCS "Layers declared so far, from the base up")

function(napkin_layer_target folder result)
  string(REPLACE "/" "_" name ${folder})
  set(${result} napkin_${name} PARENT_SCOPE)
endfunction()

function(napkin_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ONLY;PUBLIC;PRIVATE")
  napkin_layer_target(${folder} target)
  string(REGEX REPLACE "^napkin_" "" short ${target})

  get_property(above GLOBAL PROPERTY NAPKIN_LAYERS)
  set_property(GLOBAL APPEND PROPERTY NAPKIN_LAYERS ${folder})
  if(arg_ONLY)
    set(above ${arg_ONLY})
  endif()
  set(above_targets)
  foreach(layer IN LISTS above)
    napkin_layer_target(${layer} layer_target)
    list(APPEND above_targets ${layer_target})
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(sources)
    add_library(${target} STATIC ${sources})
    napkin_own_target(${target})
    if(folder MATCHES "^(apps|kernels)/")
      napkin_cuda_definition(${target})
      target_compile_definitions(${target} PRIVATE NAPKIN_VERSION="${PROJECT_VERSION}")
    endif()
    if(folder MATCHES "^apps/|^kernels/(jit|sass|micro)$|^model/(diagram|machine|fusion|dependence|island)$|^solver/(emit|explain|optimum)$")
      napkin_compile_as(${target} cold)
    else()
      napkin_compile_as(${target} code)
    endif()
    set(public PUBLIC)
    set(private PRIVATE)
  else()
    add_library(${target} INTERFACE)
    set(public INTERFACE)
    set(private INTERFACE)
  endif()
  add_library(napkin::${short} ALIAS ${target})
  if(folder STREQUAL "apps/library")  # the public headers: <napkin/napkin.hpp> for all of them
    target_include_directories(${target} ${public} ${PROJECT_SOURCE_DIR}/${folder}/include)
  endif()

  target_compile_features(${target} ${public} cxx_std_20)
  target_include_directories(${target} ${public} ${PROJECT_SOURCE_DIR})
  # Nearest layer first, as a linker wants static libraries.
  list(REVERSE above_targets)
  target_link_libraries(${target} ${public} ${above_targets} ${arg_PUBLIC} ${private} ${arg_PRIVATE})
endfunction()

# The program: the folder's main.cpp on top of the folder's library. It lands in the top of the build tree.
function(napkin_program folder)
  file(GLOB main CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/main.cpp)
  if(NOT main)
    return()
  endif()
  get_filename_component(name ${folder} NAME)
  napkin_layer_target(${folder} library)
  add_executable(${name} ${main})
  napkin_own_target(${name})
  napkin_cuda_definition(${name})
  target_compile_definitions(${name} PRIVATE NAPKIN_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE ${library})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()
