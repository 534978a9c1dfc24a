# The targets tenon, tenon_cuda and tenon_program as a finished build folder (TENON_BUILD) has them, in place of ours.

file(GLOB TENON_LIBRARIES LIST_DIRECTORIES false ${TENON_BUILD}/lib/libtenon.so.*)
if(NOT TENON_LIBRARIES)
  message(FATAL_ERROR "TENON_BUILD=${TENON_BUILD} has no lib/libtenon.so: build it first (make build)")
endif()
# Wheels get the files themselves, and not the links to them.
file(REAL_PATH ${TENON_BUILD}/lib/libtenon.so library)
add_library(tenon SHARED IMPORTED)
set_target_properties(tenon PROPERTIES IMPORTED_LOCATION ${library} IMPORTED_SONAME ${TENON_SONAME})
if(EXISTS ${TENON_BUILD}/lib/libtenon_cuda.so)
  file(REAL_PATH ${TENON_BUILD}/lib/libtenon_cuda.so library)
  add_library(tenon_cuda SHARED IMPORTED)
  set_target_properties(tenon_cuda PROPERTIES IMPORTED_LOCATION ${library})
endif()
add_executable(tenon_program IMPORTED)
set_target_properties(tenon_program PROPERTIES IMPORTED_LOCATION ${TENON_BUILD}/bin/tenon)
