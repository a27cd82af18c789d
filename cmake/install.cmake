# Another program can use the model alone: find_package(ddpx) and ddpx::model. Its headers go to
# include/ddpx/ and are included as here, "model/units.hpp". tests/package is such a program.

include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/ddpx)

install(
  TARGETS ddpx_model
  EXPORT ddpxTargets
  ARCHIVE COMPONENT model
  FILE_SET HEADERS
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ddpx
  COMPONENT model
  FILE_SET alone
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ddpx
  COMPONENT model)
install(
  EXPORT ddpxTargets
  NAMESPACE ddpx::
  DESTINATION ${package_directory}
  COMPONENT model)

# The model needs nothing at run or link time (Eigen is headers, used inside .cpp files only), so the
# exported targets are the whole package configuration.
file(WRITE ${PROJECT_BINARY_DIR}/generated/ddpxConfig.cmake
     "include(\"\${CMAKE_CURRENT_LIST_DIR}/ddpxTargets.cmake\")\n")
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/generated/ddpxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/ddpxConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/ddpxConfigVersion.cmake
        DESTINATION ${package_directory}
        COMPONENT model)
