# Finds packages, and says the remedy instead of CMake's page about search paths.
function(ddpx_find_packages)
  foreach(package IN LISTS ARGN)
    find_package(${package} QUIET GLOBAL)
    if(NOT ${package}_FOUND)
      message(FATAL_ERROR "ddpx needs the package ${package}: run ./setup.sh (Debian, Ubuntu), "
                          "or name its place with -D${package}_DIR=DIRECTORY")
    endif()
  endforeach()
endfunction()
