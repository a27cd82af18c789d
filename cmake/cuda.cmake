# The CUDA toolkit with cuBLAS, and NCCL, which GPU ranks need. Sets DDPX_HAS_CUDA, and makes
# ddpx::nccl.
#
# DDPX_WITH_CUDA: AUTO takes them where they are, ON insists, OFF leaves GPU ranks out. They are looked
# for in the system, in CUDA_HOME and NCCL_HOME, and, NCCL, in the wheels PyTorch installs.

set(DDPX_WITH_CUDA AUTO CACHE STRING "GPU ranks by CUDA and NCCL: AUTO, ON or OFF")
set_property(CACHE DDPX_WITH_CUDA PROPERTY STRINGS AUTO ON OFF)

set(DDPX_HAS_CUDA OFF)
if(DDPX_WITH_CUDA)
  find_program(
    DDPX_NVCC nvcc
    HINTS $ENV{CUDACXX} $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin
    PATHS /usr/local/cuda/bin)
  set(missing "")
  if(NOT DDPX_NVCC)
    set(missing "nvcc of the CUDA toolkit")
  else()
    get_filename_component(cuda_root ${DDPX_NVCC} REALPATH)
    get_filename_component(cuda_root ${cuda_root}/../.. ABSOLUTE)
    # Where pip has put NCCL beside PyTorch, by the same python3 the user would call.
    find_program(DDPX_PYTHON_IN_PATH python3)
    if(DDPX_PYTHON_IN_PATH AND NOT DDPX_NCCL_WHEEL)
      execute_process(
        COMMAND ${DDPX_PYTHON_IN_PATH} -c "import nvidia.nccl as n; print(list(n.__path__)[0])"
        OUTPUT_VARIABLE DDPX_NCCL_WHEEL
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    execute_process(COMMAND ${DDPX_NVCC} --version OUTPUT_VARIABLE nvcc_says ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" nvcc_release "${nvcc_says}")
    set(nccl_places $ENV{NCCL_HOME} ${cuda_root} $ENV{CUDA_HOME} ${DDPX_NCCL_WHEEL})
    find_path(DDPX_NCCL_INCLUDE nccl.h HINTS ${nccl_places} PATH_SUFFIXES include)
    find_library(DDPX_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_places} PATH_SUFFIXES lib lib64)
    find_path(DDPX_CUBLAS_INCLUDE cublas_v2.h HINTS ${cuda_root} PATH_SUFFIXES include)
    # CUPTI's kernel records hold all that is read of them from 12.4 on.
    if(nvcc_release AND CMAKE_MATCH_1 VERSION_LESS 12.4)
      set(missing "a CUDA toolkit of version 12.4 or newer (${DDPX_NVCC} is of ${CMAKE_MATCH_1})")
    elseif(NOT DDPX_NCCL_INCLUDE OR NOT DDPX_NCCL_LIBRARY)
      set(missing "NCCL (nccl.h and libnccl.so)")
    elseif(NOT DDPX_CUBLAS_INCLUDE)
      set(missing "cuBLAS (cublas_v2.h)")
    endif()
  endif()
  if(missing STREQUAL "")
    # Machine code for every architecture this toolkit has from compute capability 7.5 on, and PTX of
    # the newest for those to come.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      execute_process(COMMAND ${DDPX_NVCC} --list-gpu-arch OUTPUT_VARIABLE listed)
      string(REGEX MATCHALL "compute_[0-9]+" listed "${listed}")
      set(architectures "")
      foreach(entry IN LISTS listed)
        string(REPLACE "compute_" "" entry ${entry})
        if(entry GREATER_EQUAL 75)
          list(APPEND architectures ${entry})
        endif()
      endforeach()
      list(REMOVE_DUPLICATES architectures) # a listed compute_90a reads as 90
      list(SORT architectures COMPARE NATURAL)
      list(TRANSFORM architectures APPEND "-real" OUTPUT_VARIABLE real)
      list(GET architectures -1 newest)
      set(CMAKE_CUDA_ARCHITECTURES ${real} ${newest}-virtual)
    endif()
    set(CMAKE_CUDA_COMPILER ${DDPX_NVCC})
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET REQUIRED)
    add_library(ddpx_nccl INTERFACE)
    add_library(ddpx::nccl ALIAS ddpx_nccl)
    target_link_libraries(ddpx_nccl INTERFACE ${DDPX_NCCL_LIBRARY})
    target_include_directories(ddpx_nccl SYSTEM INTERFACE ${DDPX_NCCL_INCLUDE})
    set(DDPX_HAS_CUDA ON)
  elseif(DDPX_WITH_CUDA STREQUAL "AUTO")
    message(STATUS "Without GPU ranks: ${missing} was not found")
  else()
    message(FATAL_ERROR "DDPX_WITH_CUDA is ON and ${missing} was not found: install it, or name its "
                        "place with CUDA_HOME or NCCL_HOME")
  endif()
endif()
