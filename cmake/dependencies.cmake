# Everything that comes from outside, found once. A library that is optional leaves a TENON_HAVE_... variable.

if("${TENON_VENV}" STREQUAL "")
  unset(TENON_VENV CACHE)
endif()
set(TENON_VENV ${CMAKE_SOURCE_DIR}/.venv CACHE PATH
    "The Python environment that make setup fills: the ONNX schema and oneDNN come from it")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

# xxHash: a header and a library without a CMake package.
find_path(TENON_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(TENON_XXHASH_LIBRARY xxhash REQUIRED)
add_library(tenon_xxhash INTERFACE)
target_include_directories(tenon_xxhash SYSTEM INTERFACE ${TENON_XXHASH_INCLUDE})
target_link_libraries(tenon_xxhash INTERFACE ${TENON_XXHASH_LIBRARY})

# oneDNN, optional: without it the CPU device has our own kernels alone.
find_library(TENON_DNNL_LIBRARY dnnl PATHS ${TENON_VENV}/lib ${TENON_VENV}/lib64 NO_DEFAULT_PATH)
find_path(TENON_DNNL_INCLUDE dnnl.hpp PATHS ${TENON_VENV}/include NO_DEFAULT_PATH)
set(TENON_HAVE_DNNL FALSE)
if(TENON_DNNL_LIBRARY AND TENON_DNNL_INCLUDE)
  set(TENON_HAVE_DNNL TRUE)
  add_library(tenon_dnnl SHARED IMPORTED GLOBAL)
  set_target_properties(tenon_dnnl PROPERTIES IMPORTED_LOCATION ${TENON_DNNL_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${TENON_DNNL_INCLUDE})
endif()

include(cuda)
include(flatbuffer)
include(onnx_proto)
