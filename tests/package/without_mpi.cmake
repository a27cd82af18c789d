# The build without Open MPI: left out on demand (DDPX_WITH_MPI=OFF), and insisted on where it is not
# there (ON), which must say what to install. Given are SOURCE, BUILD (a folder of its own), GENERATOR,
# and FLAGS and WARNINGS_ARE_ERRORS of the tree at hand, whose compiled files ccache then has.
function(configure result output)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G ${GENERATOR} -DDDPX_TESTS=OFF -DCMAKE_CXX_FLAGS_RELEASE=${FLAGS}
            -DCMAKE_COMPILE_WARNING_AS_ERROR=${WARNINGS_ARE_ERRORS} ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
  set(${result} ${status} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${BUILD})
configure(status text -DDDPX_WITH_MPI=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
if(status EQUAL 0 OR NOT text MATCHES "libopenmpi-dev")
  message(FATAL_ERROR "ON without Open MPI must fail and name the package: ${text}")
endif()

file(REMOVE_RECURSE ${BUILD})
configure(status text -DDDPX_WITH_MPI=AUTO -DDDPX_WITH_CUDA=OFF -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
if(NOT status EQUAL 0 OR NOT text MATCHES "Without CPU ranks")
  message(FATAL_ERROR "AUTO without Open MPI must go on and say so: ${text}")
endif()

file(REMOVE_RECURSE ${BUILD})
configure(status text -DDDPX_WITH_MPI=OFF -DDDPX_WITH_CUDA=OFF)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "OFF must configure: ${text}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ddpx-calibrate ddpx-predict ddpx-validate
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the programs must build without Open MPI: ${text}")
endif()
execute_process(COMMAND ${BUILD}/bin/ddpx-calibrate --quick RESULT_VARIABLE status ERROR_VARIABLE text)
if(NOT status EQUAL 2 OR NOT text MATCHES "this build can measure nothing")
  message(FATAL_ERROR "measuring must be refused: ${status} ${text}")
endif()
execute_process(COMMAND ${BUILD}/bin/ddpx-predict --machine t4x2 --link nvlink RESULT_VARIABLE status OUTPUT_QUIET
                ERROR_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "forecasting must work: ${status}")
endif()
file(REMOVE_RECURSE ${BUILD})
