# cmake -DBUILD=DIRECTORY -DGENERATOR=NAME -P run.cmake
set(here ${BUILD}/package-test)
file(REMOVE_RECURSE ${here})

foreach(
  command
  IN
  ITEMS "--install;${BUILD};--component;model;--prefix;${here}/prefix"
        "-S;${CMAKE_CURRENT_LIST_DIR};-B;${here}/build;-G;${GENERATOR};-DCMAKE_PREFIX_PATH=${here}/prefix"
        "--build;${here}/build")
  execute_process(COMMAND ${CMAKE_COMMAND} ${command} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${here}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
