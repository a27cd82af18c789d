# Before project(): Clang compiles for the sanitizers in half the time of GCC, and is a second compiler
# to agree, so a new tree with DDPX_SANITIZE is compiled by it where it is there with its run-time
# libraries; CXX or CMAKE_CXX_COMPILER name another.
if(DDPX_SANITIZE AND NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(DDPX_CLANG clang++)
  if(DDPX_CLANG)
    set(probe ${CMAKE_BINARY_DIR}/sanitized_probe)
    file(WRITE ${probe}.cpp "int main() { return 0; }\n")
    execute_process(COMMAND ${DDPX_CLANG} -fsanitize=address,undefined ${probe}.cpp -o ${probe}
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
      message(STATUS "Sanitized by the usual compiler: ${DDPX_CLANG} has no libraries of the sanitizers (libclang-rt-dev)")
    else()
      set(CMAKE_CXX_COMPILER ${DDPX_CLANG})
    endif()
  endif()
endif()
