# Install rules, the CMake package and the pkg-config file. Installed files do not contain the
# prefix, so it may change after configuring.
include(CMakePackageConfigHelpers)

set(ocellus_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ocellus)

set(libraries ocellus ocellus_draw ocellus_training)
if(TARGET ocellus_identify)
  list(APPEND libraries ocellus_identify)
endif()
if(TARGET ocellus_c)
  list(APPEND libraries ocellus_c)
endif()
install(TARGETS ${libraries} EXPORT ocellus-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/include/ocellus ${PROJECT_BINARY_DIR}/lib/include/ocellus
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

# A file of its own, so that programs that do not use it need no MPI.
if(TARGET ocellus_cluster)
  install(TARGETS ocellus_cluster EXPORT ocellus-cluster-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/cluster/include/ocellus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
  install(EXPORT ocellus-cluster-targets NAMESPACE ocellus:: DESTINATION ${ocellus_cmake_dir} COMPONENT library)
endif()

install(EXPORT ocellus-targets NAMESPACE ocellus:: DESTINATION ${ocellus_cmake_dir} COMPONENT library)
get_target_property(ocellus_type ocellus TYPE)
set(OCELLUS_CUDA_NEEDED OFF)
if(OCELLUS_CUDA_FOUND AND ocellus_type STREQUAL "STATIC_LIBRARY")
  set(OCELLUS_CUDA_NEEDED ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/toolchains/cmake/ocellus-config.cmake.in
  ${PROJECT_BINARY_DIR}/ocellus-config.cmake INSTALL_DESTINATION ${ocellus_cmake_dir}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the interface.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ocellus-config-version.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/ocellus-config.cmake ${PROJECT_BINARY_DIR}/ocellus-config-version.cmake
  DESTINATION ${ocellus_cmake_dir} COMPONENT library)

# pkg-config. A static library does not record its dependencies, so every user needs them. A shared
# library does, so only users of --static need them.
if(ocellus_type STREQUAL "STATIC_LIBRARY")
  set(pc_requires "Requires: libhwy")
  set(pc_libs "Libs: -L\${libdir} -locellus ${CMAKE_THREAD_LIBS_INIT}")
  if(OCELLUS_CUDA_FOUND)
    string(APPEND pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
  endif()
else()
  set(pc_requires "Requires.private: libhwy")
  set(pc_libs "Libs: -L\${libdir} -locellus\nLibs.private: ${CMAKE_THREAD_LIBS_INIT}")
endif()
set(pc_c_requires "Requires: ocellus")
set(pc_c_libs "Libs:")
if(TARGET ocellus_c)
  get_target_property(ocellus_c_type ocellus_c TYPE)
  if(ocellus_c_type STREQUAL "SHARED_LIBRARY")
    set(pc_c_requires "Requires:")
    set(pc_c_libs "Libs: -L\${libdir} -locellus_c")
  endif()
endif()
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /prefix/${pc_dir} /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
string(REPLACE "_" "-" packages "${libraries}")
foreach(name IN LISTS packages)
  configure_file(${PROJECT_SOURCE_DIR}/toolchains/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir} COMPONENT library)
endforeach()
