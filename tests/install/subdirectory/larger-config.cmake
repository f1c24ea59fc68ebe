include(CMakeFindDependencyMacro)
find_dependency(ocellus 0.1)
include(${CMAKE_CURRENT_LIST_DIR}/larger-targets.cmake)
