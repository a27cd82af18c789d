# What the rooms' CMakeLists.txt are written with.

# ddpx_add_room(NAME SOURCES file... HEADERS file... PUBLIC target... PRIVATE target...)
#
# The library of one room: target ddpx_NAME, used as ddpx::NAME. Includes are written from the
# repository's root ("model/units.hpp"), so the root is the include directory. Headers are listed
# for two reasons: installing, and header_self_containment, which compiles alone those that no .cpp
# file of their name does by including them first (tests/rooms/includes_test.cpp).
function(ddpx_add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  set(target ddpx_${name})
  if(NOT room_SOURCES AND NOT room_HEADERS) # a room not begun yet: nothing to build, but linkable
    add_library(${target} INTERFACE)
    add_library(ddpx::${name} ALIAS ${target})
    return()
  endif()
  add_library(${target} STATIC ${room_SOURCES})
  add_library(ddpx::${name} ALIAS ${target})
  set(alone "")
  foreach(header IN LISTS room_HEADERS)
    string(REGEX REPLACE "\\.hpp$" ".cpp" source ${header})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      list(APPEND alone ${header})
    endif()
  endforeach()
  list(REMOVE_ITEM room_HEADERS ${alone})
  target_sources(
    ${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${room_HEADERS}
                     FILE_SET alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${room_PUBLIC} PRIVATE ${room_PRIVATE})
  set_target_properties(
    ${target}
    PROPERTIES EXPORT_NAME ${name}
               LINKER_LANGUAGE CXX # a room may be headers only for a while
               POSITION_INDEPENDENT_CODE ON
               VERIFY_INTERFACE_HEADER_SETS ON
               INTERFACE_HEADER_SETS_TO_VERIFY alone)
endfunction()

# ddpx_add_program(NAME SOURCES file... LINK target...)
#
# One of the three programs, in build/bin/.
function(ddpx_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 program "" "" "SOURCES;LINK")
  add_executable(${name} ${program_SOURCES})
  target_link_libraries(${name} PRIVATE ${program_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} COMPONENT programs)
endfunction()

# ddpx_add_module(NAME SOURCE)
#
# The room NAME as a shared library beside the programs, ddpx_NAME.so, which they load when it is
# asked for (profiler/module.hpp). SOURCE defines its symbols.
function(ddpx_add_module name source)
  set(target ddpx_${name}_module)
  add_library(${target} MODULE ${source})
  target_link_libraries(${target} PRIVATE ddpx::${name})
  set_target_properties(
    ${target}
    PROPERTIES PREFIX ""
               OUTPUT_NAME ddpx_${name}
               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(
    TARGETS ${target}
    COMPONENT programs
    LIBRARY DESTINATION lib/ddpx)
endfunction()
