# Sets NAPKIN_HAVE_CUDA. Kernels are compiled at run time by NVRTC, so the CUDA language is never enabled; what is
# looked for is the toolkit's headers and libraries. OFF looks for nothing.
if(NAPKIN_CUDA STREQUAL "AUTO")
  find_package(CUDAToolkit 12.4 QUIET)
elseif(NAPKIN_CUDA STREQUAL "ON")
  find_package(CUDAToolkit 12.4 REQUIRED)
elseif(NOT NAPKIN_CUDA STREQUAL "OFF")
  message(FATAL_ERROR "NAPKIN_CUDA is '${NAPKIN_CUDA}'; it must be AUTO, ON or OFF")
endif()

if(NOT NAPKIN_CUDA STREQUAL "OFF" AND CUDAToolkit_FOUND)
  set(have_cuda ON)
else()
  set(have_cuda OFF)
endif()
set(NAPKIN_HAVE_CUDA ${have_cuda} CACHE INTERNAL "CUDA is used in this build")

# For kernels/ and apps/ only: model/ and solver/ never see it.
function(napkin_cuda_definition target)
  target_compile_definitions(${target} PRIVATE NAPKIN_HAVE_CUDA=$<BOOL:${NAPKIN_HAVE_CUDA}>)
  if(NAPKIN_HAVE_CUDA)
    target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    foreach(folder IN LISTS CUDAToolkit_INCLUDE_DIRS)  # older toolkits keep CUPTI apart
      if(EXISTS ${folder}/../extras/CUPTI/include)
        target_include_directories(${target} SYSTEM PRIVATE ${folder}/../extras/CUPTI/include)
      endif()
    endforeach()
  endif()
endfunction()
