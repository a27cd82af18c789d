# ddpx_add_version_header(TARGET): gives TARGET alone the header ddpx_version.hpp.
#
# This file is also the generator: cmake -DROOT=... -DOUT=... -DDDPX_VERSION=... -P version.cmake

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(DDPX_VERSION_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

  function(ddpx_add_version_header target)
    set(directory ${PROJECT_BINARY_DIR}/generated)
    # No input file stands for "the state of git", so it runs at every build (some 10 ms) and leaves
    # an unchanged header untouched.
    add_custom_target(
      ddpx_version
      COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${directory}/ddpx_version.hpp
              -DDDPX_VERSION=${PROJECT_VERSION} -P ${DDPX_VERSION_SCRIPT}
      BYPRODUCTS ${directory}/ddpx_version.hpp
      COMMENT ""
      VERBATIM)
    add_dependencies(${target} ddpx_version)
    target_include_directories(${target} PRIVATE ${directory})
  endfunction()
  return()
endif()

# An unpacked archive may lie inside some other project's repository: only a work tree whose top is
# ROOT counts. Any failure of git (not installed, no commit yet, foreign owner) means "unknown".
set(DDPX_GIT_DESCRIBE "")
execute_process(
  COMMAND git rev-parse --show-prefix
  WORKING_DIRECTORY "${ROOT}"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE prefix
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(status EQUAL 0 AND prefix STREQUAL "")
  execute_process(
    COMMAND git describe --tags --always --dirty
    WORKING_DIRECTORY "${ROOT}"
    OUTPUT_VARIABLE DDPX_GIT_DESCRIBE
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.hpp.in" "${OUT}" @ONLY)
