# Install rules, the CMake package and the pkg-config files. Installed files do not contain the
# prefix, so it may change after configuring.
#
# Components: library, c (shared libraries), dev (what programs are built with), gst-plugins, tools
# (the program), cluster, python.
include(CMakePackageConfigHelpers)

set(ocellus_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ocellus)
get_target_property(ocellus_type ocellus TYPE)

# ocellus_install_libraries(<export set> <component of shared libraries> <target>...)
function(ocellus_install_libraries set component)
  install(TARGETS ${ARGN} EXPORT ${set}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT dev)
endfunction()

set(libraries ocellus ocellus_draw ocellus_training)
if(TARGET ocellus_identify)
  list(APPEND libraries ocellus_identify)
endif()
ocellus_install_libraries(ocellus-targets library ${libraries})
if(TARGET ocellus_c)
  ocellus_install_libraries(ocellus-targets c ocellus_c)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/include/ocellus ${PROJECT_BINARY_DIR}/lib/include/ocellus
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
# The CUDA runtime that a static library needs, so that its users need no toolkit.
if(OCELLUS_CUDA_FOUND AND ocellus_type STREQUAL "STATIC_LIBRARY")
  get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
  install(FILES ${cudart} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${OCELLUS_CUDART} COMPONENT dev)
endif()

# Export sets of their own, so that programs that do not use these libraries need neither MPI nor GStreamer.
if(TARGET ocellus_cluster)
  ocellus_install_libraries(ocellus-cluster-targets library ocellus_cluster)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/cluster/include/ocellus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
  install(EXPORT ocellus-cluster-targets NAMESPACE ocellus:: DESTINATION ${ocellus_cmake_dir} COMPONENT dev)
endif()
if(TARGET ocellus_gst)
  ocellus_install_libraries(ocellus-gst-targets library ocellus_gst)
  install(EXPORT ocellus-gst-targets NAMESPACE ocellus:: DESTINATION ${ocellus_cmake_dir} COMPONENT dev)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/ocellus COMPONENT dev
  USE_SOURCE_PERMISSIONS)
install(EXPORT ocellus-targets NAMESPACE ocellus:: DESTINATION ${ocellus_cmake_dir} COMPONENT dev)

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
  DESTINATION ${ocellus_cmake_dir} COMPONENT dev)

# Outside of the folders that the system's loader searches, programs and the plugin find a shared library by a path
# relative to them.
if(ocellus_type STREQUAL "SHARED_LIBRARY" AND NOT CMAKE_INSTALL_FULL_LIBDIR IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  foreach(pair ocellus-program=${CMAKE_INSTALL_BINDIR} ocellus-bench=${CMAKE_INSTALL_BINDIR} ocellus-cluster=${CMAKE_INSTALL_BINDIR}
      ocellus-cluster-bench=${CMAKE_INSTALL_BINDIR} gstocellus=${OCELLUS_GST_PLUGIN_DIR})
    string(REGEX MATCH "^([^=]*)=(.*)$" ignored "${pair}")
    set(target ${CMAKE_MATCH_1})
    cmake_path(ABSOLUTE_PATH CMAKE_MATCH_2 BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} NORMALIZE OUTPUT_VARIABLE folder)
    if(TARGET ${target})
      file(RELATIVE_PATH path ${folder} ${CMAKE_INSTALL_FULL_LIBDIR})
      set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "$ORIGIN/${path}")
    endif()
  endforeach()
endif()

set(OCELLUS_PYTHON_DIR "" CACHE STRING
  "Folder where the Python package is installed, absolute or relative to the install prefix; without it, pip installs the package")
if(OCELLUS_PYTHON_DIR)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/apps/python/ocellus DESTINATION ${OCELLUS_PYTHON_DIR} COMPONENT python
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()

# ---- pkg-config
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

# ocellus_install_pc(<name> <description> [LIBS ...] [LIBS_PRIVATE ...] [REQUIRES ...] [REQUIRES_PRIVATE ...])
function(ocellus_install_pc name description)
  cmake_parse_arguments(PARSE_ARGV 2 pc "" "" "LIBS;LIBS_PRIVATE;REQUIRES;REQUIRES_PRIVATE")
  if(pc_LIBS)
    list(PREPEND pc_LIBS "-L\${libdir}")
  endif()
  list(JOIN pc_LIBS " " pc_LIBS)
  list(JOIN pc_LIBS_PRIVATE " " pc_LIBS_PRIVATE)
  list(JOIN pc_REQUIRES " " pc_REQUIRES)
  list(JOIN pc_REQUIRES_PRIVATE " " pc_REQUIRES_PRIVATE)
  configure_file(${PROJECT_SOURCE_DIR}/toolchains/cmake/package.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir} COMPONENT dev)
endfunction()

# A static library does not record its dependencies, so every user needs them. A shared library
# does, so only users of --static need them.
set(cuda "")
if(OCELLUS_CUDA_FOUND AND ocellus_type STREQUAL "STATIC_LIBRARY")
  string(REGEX REPLACE "^lib(.*)[.]a$" "-l\\1" cuda ${OCELLUS_CUDART})
  list(APPEND cuda -lrt -l${CMAKE_DL_LIBS})
endif()
if(ocellus_type STREQUAL "STATIC_LIBRARY")
  ocellus_install_pc(ocellus "${PROJECT_DESCRIPTION}" REQUIRES libhwy LIBS -locellus ${cuda} ${CMAKE_THREAD_LIBS_INIT})
else()
  ocellus_install_pc(ocellus "${PROJECT_DESCRIPTION}" REQUIRES_PRIVATE libhwy LIBS -locellus LIBS_PRIVATE ${CMAKE_THREAD_LIBS_INIT})
endif()
if(TARGET ocellus_c)
  ocellus_install_pc(ocellus-c "C interface of Ocellus" LIBS -locellus_c)
endif()
# These libraries are always static.
ocellus_install_pc(ocellus-draw "Drawing the results of Ocellus" REQUIRES ocellus LIBS -locellus_draw)
ocellus_install_pc(ocellus-training "Learning of models for Ocellus from labeled images" REQUIRES ocellus libhwy
  LIBS -locellus_training ${CMAKE_THREAD_LIBS_INIT})
if(TARGET ocellus_identify)
  ocellus_install_pc(ocellus-identify "Identification of restoration filters for Ocellus" REQUIRES ocellus LIBS -locellus_identify)
endif()
if(TARGET ocellus_cluster)
  ocellus_install_pc(ocellus-cluster "Ocellus on the processes of an MPI communicator; for the compiler of the MPI" REQUIRES ocellus
    LIBS -locellus_cluster)
endif()
if(TARGET ocellus_gst)
  ocellus_install_pc(ocellus-gst "Results of Ocellus' GStreamer elements" REQUIRES gstreamer-1.0)
endif()

# ---- uninstall: `cmake --build build --target uninstall` removes what the last `cmake --install build` wrote.
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -D manifest=${PROJECT_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/toolchains/cmake/uninstall.cmake USES_TERMINAL VERBATIM)
endif()
