# Open MPI and OpenBLAS, which CPU ranks need. Sets DDPX_HAS_MPI, and makes ddpx::openblas.
#
# DDPX_WITH_MPI: AUTO takes them where they are, ON insists, OFF leaves CPU ranks out.

set(DDPX_WITH_MPI AUTO CACHE STRING "CPU ranks by Open MPI and OpenBLAS: AUTO, ON or OFF")
set_property(CACHE DDPX_WITH_MPI PROPERTY STRINGS AUTO ON OFF)

set(DDPX_HAS_MPI OFF)
if(DDPX_WITH_MPI)
  # The C++ bindings, gone since MPI 3, are not wanted.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  find_library(DDPX_OPENBLAS_LIBRARY NAMES openblas)
  # Distributions keep its cblas.h, which differs from the reference one, in a directory of its own.
  find_path(DDPX_OPENBLAS_INCLUDE NAMES openblas_config.h PATH_SUFFIXES openblas-pthread openblas)
  if(MPI_CXX_FOUND AND DDPX_OPENBLAS_LIBRARY AND DDPX_OPENBLAS_INCLUDE)
    set(DDPX_HAS_MPI ON)
    add_library(ddpx_openblas INTERFACE)
    add_library(ddpx::openblas ALIAS ddpx_openblas)
    target_link_libraries(ddpx_openblas INTERFACE ${DDPX_OPENBLAS_LIBRARY})
    target_include_directories(ddpx_openblas SYSTEM INTERFACE ${DDPX_OPENBLAS_INCLUDE})
  elseif(DDPX_WITH_MPI STREQUAL "AUTO")
    message(STATUS "Without CPU ranks: Open MPI or OpenBLAS was not found")
  else()
    message(FATAL_ERROR "DDPX_WITH_MPI is ON and Open MPI or OpenBLAS was not found: run ./setup.sh, "
                        "or install libopenmpi-dev, openmpi-bin and libopenblas-dev (Debian, Ubuntu)")
  endif()
endif()
