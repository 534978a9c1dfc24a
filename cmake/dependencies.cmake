# Everything that comes from outside, found once. A library that is optional leaves a TENON_HAVE_... variable.

if("${TENON_VENV}" STREQUAL "")
  unset(TENON_VENV CACHE)
endif()
set(TENON_VENV ${CMAKE_SOURCE_DIR}/.venv CACHE PATH
    "The Python environment that make setup fills: the ONNX schema comes from it")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

# xxHash: a header and a library without a CMake package.
find_path(TENON_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(TENON_XXHASH_LIBRARY xxhash REQUIRED)
add_library(tenon_xxhash INTERFACE)
target_include_directories(tenon_xxhash SYSTEM INTERFACE ${TENON_XXHASH_INCLUDE})
target_link_libraries(tenon_xxhash INTERFACE ${TENON_XXHASH_LIBRARY})

include(cuda)
include(flatbuffer)
include(onnx_proto)
