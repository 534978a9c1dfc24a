# Project-wide compile options and the two functions every folder of src/ and tests/ is declared with.

add_library(tenon_options INTERFACE)
target_compile_options(tenon_options INTERFACE -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers
                       -Wno-psabi)
target_include_directories(tenon_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_include_directories(tenon_options SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/generated)
if(TENON_SANITIZE)
  target_compile_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

# tenon_library(NAME [SOURCES ...] [DEPENDS ...]): a static library of every .cpp beside the calling CMakeLists.txt.
# DEPENDS is the complete list of folders whose headers this one may include; tools/check_layers.py holds the sources
# to it.
function(tenon_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(APPEND found ${ARG_SOURCES})
  if(found)
    add_library(${name} STATIC ${found})
    target_link_libraries(${name} PUBLIC tenon_options fmt::fmt ${ARG_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tenon_options fmt::fmt ${ARG_DEPENDS})
  endif()
endfunction()

# tenon_test(NAME DEPENDS ... [LABELS ...]): one GoogleTest program of every .cpp beside the calling CMakeLists.txt.
function(tenon_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LABELS" ${ARGN})
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT found)
    return()
  endif()
  add_executable(${name} ${found})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE TENON_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()
