# Project-wide compile options and the two functions every folder of src/ and tests/ is declared with.

add_library(tenon_options INTERFACE)
target_compile_options(tenon_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Wno-psabi)
# Warnings are errors for the compiler that the project is developed with. Others warn of other things (GCC 13 of
# fmt's own headers), and so does this one in code that sanitizers add.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND NOT TENON_SANITIZE)
  target_compile_options(tenon_options INTERFACE -Werror)
endif()
target_include_directories(tenon_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_include_directories(tenon_options SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/generated)
if(TENON_SANITIZE)
  target_compile_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

# The standard headers that most sources include, parsed once; for tests GoogleTest's too. Every target reuses the file of one of
# these two: programs are compiled with other options (-fPIE) than libraries. Headers stay self-contained:
# TENON_PRECOMPILED_HEADERS=OFF builds without.
option(TENON_PRECOMPILED_HEADERS "Parse the standard headers once for all sources" ON)
set(TENON_FOR_CCACHE)
if(TENON_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TENON_FOR_CCACHE -fpch-preprocess)
  target_compile_options(tenon_options INTERFACE ${TENON_FOR_CCACHE})
endif()
# GCC 12 warns of its own std::string where more of it is inlined than usual, or less.
set(TENON_NOT_OF_STRINGS)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TENON_NOT_OF_STRINGS -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized)
endif()
# Tests run what is optimized and are not: -O1 compiles in half the time.
set(TENON_TEST_LEVEL -O1)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled.cpp CONTENT "int main() {}\n")  # Kept where it is the same.
add_library(tenon_precompiled_library OBJECT ${CMAKE_BINARY_DIR}/generated/precompiled.cpp)
target_link_libraries(tenon_precompiled_library PRIVATE tenon_options fmt::fmt)
set(precompiled tenon_precompiled_library)
if(TENON_TESTS)
  find_package(GTest REQUIRED)
  add_executable(tenon_precompiled_test ${CMAKE_BINARY_DIR}/generated/precompiled.cpp)
  target_link_libraries(tenon_precompiled_test PRIVATE tenon_options fmt::fmt GTest::gtest)
  target_compile_options(tenon_precompiled_test PRIVATE ${TENON_TEST_LEVEL})
  list(APPEND precompiled tenon_precompiled_test)
endif()
if(TENON_PRECOMPILED_HEADERS)
  foreach(target ${precompiled})
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
  endforeach()
  if(TENON_TESTS)
    target_precompile_headers(tenon_precompiled_test PRIVATE <gtest/gtest.h>)
  endif()
endif()

# tenon_precompiled(TARGET KIND): TARGET reuses the precompiled headers of KIND, library or test.
function(tenon_precompiled target kind)
  if(TENON_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM tenon_precompiled_${kind})
  endif()
endfunction()

# tenon_test_options(TARGET): TARGET is compiled as tests are.
function(tenon_test_options target)
  target_link_libraries(${target} PRIVATE GTest::gtest)
  target_compile_options(${target} PRIVATE ${TENON_TEST_LEVEL} ${TENON_NOT_OF_STRINGS} ${TENON_FOR_CCACHE})
  tenon_precompiled(${target} test)
endfunction()

# Sources named *_isa.cpp are compiled for each of the usual instruction sets (tenon_isa_bodies). Sources named *_avx2.cpp,
# *_avx512.cpp, *_avx512bf16.cpp, *_avx512vnni.cpp and *_amx.cpp are compiled for that instruction set, and only on x86-64; they
# are called only after device/cpu/isa.h has found it. -O3 also in debug builds: without it they take minutes.
# With sanitizers -O1 does: -O3 takes most of a minute to compile for some of them.
set(TENON_ISA_LEVEL -O3)
if(TENON_SANITIZE)
  set(TENON_ISA_LEVEL -O1)
endif()
set(TENON_AVX2_FLAGS -Wno-maybe-uninitialized ${TENON_ISA_LEVEL} -mavx2 -mfma -mf16c)
# GCC 12 warns of uninitialized variables inside its own AVX-512 intrinsics.
set(TENON_AVX512_FLAGS -Wno-uninitialized -Wno-maybe-uninitialized ${TENON_ISA_LEVEL} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
set(TENON_AVX512BF16_FLAGS ${TENON_AVX512_FLAGS} -mavx512bf16)
set(TENON_AVX512VNNI_FLAGS ${TENON_AVX512_FLAGS} -mavx512vnni)
set(TENON_AMX_FLAGS ${TENON_AVX512BF16_FLAGS} -mavx512vnni -mamx-tile -mamx-int8 -mamx-bf16)

# tenon_isa_bodies(LIST): in place of each source of LIST that is named *_isa.cpp one for each instruction set that includes
# it, in the folder of the build (kernels/vector_math/isa.h).
function(tenon_isa_bodies list)
  set(kept)
  foreach(source ${${list}})
    if(NOT source MATCHES "/([^/]*)_isa\\.cpp$")
      list(APPEND kept ${source})
      continue()
    endif()
    set(stem ${CMAKE_MATCH_1})
    file(RELATIVE_PATH body ${CMAKE_SOURCE_DIR}/src ${source})
    set(index 0)
    foreach(isa Generic Avx2 Avx512)
      string(TOLOWER ${isa} lower)
      set(made ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${lower}.cpp)
      file(CONFIGURE OUTPUT ${made} CONTENT "#define TENON_ISA ${lower}
#define TENON_ISA_NAME ${isa}
#define TENON_ISA_INDEX ${index}
#include \"${body}\"
")
      list(APPEND kept ${made})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# tenon_isa_sources(LIST): gives the sources of LIST their instruction set's options, or drops them elsewhere.
function(tenon_isa_sources list)
  set(kept)
  foreach(source ${${list}})
    if(NOT source MATCHES "_(avx2|avx512|avx512bf16|avx512vnni|amx)\\.cpp$")
      list(APPEND kept ${source})
      continue()
    endif()
    string(TOUPPER ${CMAKE_MATCH_1} isa)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${TENON_${isa}_FLAGS}"
                                                       SKIP_PRECOMPILE_HEADERS ON)
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# Several sources of a folder compiled in one go, as tools/unity_groups.py deals them out: a first build takes half the time, a
# change of one source a little more. The groups are made when the build is configured, as every `make` does.
option(TENON_UNITY "Compile several sources of a folder in one go" ON)
if(TENON_UNITY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/unity_groups.py ${CMAKE_SOURCE_DIR}/src
                  OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" groups "${groups}")
  foreach(line ${groups})
    string(REGEX MATCH "^([0-9]+) (.*)$" line ${line})
    set_property(GLOBAL PROPERTY "TENON_GROUP_${CMAKE_MATCH_2}" ${CMAKE_MATCH_1})
  endforeach()
endif()

# tenon_unity(TARGET SOURCE...): the target's sources, of any folders, in their groups.
function(tenon_unity target)
  if(NOT TENON_UNITY)
    return()
  endif()
  foreach(source ${ARGN})
    get_property(group GLOBAL PROPERTY "TENON_GROUP_${source}")
    if(group)
      # Groups are numbered in each folder.
      get_filename_component(folder ${source} DIRECTORY)
      set(name group)
      if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
        get_filename_component(name ${folder} NAME)
      endif()
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
    else()
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE ${TENON_NOT_OF_STRINGS})
endfunction()

# tenon_library(NAME [SOURCES ...] [DEPENDS ...]): a static library of every .cpp beside the calling CMakeLists.txt but
# those named *_cuda.cpp.
# DEPENDS is the complete list of folders whose headers this one may include; tools/check_layers.py holds the sources
# to it.
function(tenon_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER found EXCLUDE REGEX "_cuda\\.cpp$")
  list(APPEND found ${ARG_SOURCES})
  tenon_isa_bodies(found)
  tenon_isa_sources(found)
  if(found)
    add_library(${name} STATIC ${found})
    target_link_libraries(${name} PUBLIC tenon_options fmt::fmt ${ARG_DEPENDS})
    tenon_precompiled(${name} library)
    tenon_unity(${name} ${found})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tenon_options fmt::fmt ${ARG_DEPENDS})
  endif()
endfunction()

# tenon_cuda_library(NAME [DEPENDS ...]): likewise of every *_cuda.cpp, where CUDA's headers were found; part of
# libtenon_cuda. Headers and sources named *_cuda.* belong to it.
function(tenon_cuda_library name)
  if(NOT TENON_HAVE_CUDA)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_cuda.cpp)
  add_library(${name} STATIC ${found})
  target_link_libraries(${name} PUBLIC tenon_options fmt::fmt tenon_kernel_cuda ${ARG_DEPENDS})
  tenon_precompiled(${name} library)
  tenon_unity(${name} ${found})
endfunction()

# tenon_test(NAME DEPENDS ... [LABELS ...] [NEED_GPU PATTERN ...]): one GoogleTest program of every .cpp beside the calling
# CMakeLists.txt. The tests whose names match a PATTERN need a GPU: they are a test NAME_gpu of their own, which is
# skipped where there is none. Sources after EXCEPT are left out.
function(tenon_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LABELS;NEED_GPU;EXCEPT" ${ARGN})
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(TRANSFORM ARG_EXCEPT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM found "" ${ARG_EXCEPT})
  if(NOT found)
    return()
  endif()
  tenon_isa_sources(found)
  add_executable(${name} ${found})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} fmt::fmt tenon_test_main)
  tenon_test_options(${name})
  target_compile_definitions(${name} PRIVATE TENON_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(TENON_SANITIZE)  # The thread sanitizer must be loaded before libc.
    target_link_options(${name} PRIVATE -fsanitize=${TENON_SANITIZE})
  endif()
  set(patterns)
  if(ARG_NEED_GPU)
    list(JOIN ARG_NEED_GPU ":" patterns)
    add_test(NAME ${name}_gpu COMMAND ${name} --gtest_filter=${patterns})
    set_tests_properties(${name}_gpu PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)
    set(patterns --gtest_filter=-${patterns})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${patterns})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

# tenon_compat_sources(OUT): the sources that tools/abi_symbols.py writes when the build is configured: of the libraries
# in lib/compat, and of the exports of TARGET for them. OUT is their folder.
function(tenon_compat_sources out)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(folder ${CMAKE_BINARY_DIR}/generated/compat)
  set(inputs ${CMAKE_SOURCE_DIR}/tools/abi_symbols.py ${CMAKE_SOURCE_DIR}/tools/abi_table.py
             ${CMAKE_SOURCE_DIR}/src/surface/abi.tsv)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/abi_symbols.py ${folder} COMMAND_ERROR_IS_FATAL ANY)
  set(${out} ${folder} PARENT_SCOPE)
endfunction()

# tenon_compat_libraries(TARGET FOLDER): libraries by the names that programs written for TensorRT link with or open, in
# lib/compat. They lie in a folder of their own, so that they never come before a real TensorRT unless asked for.
function(tenon_compat_libraries target folder)
  foreach(name nvinfer nvinfer_plugin nvonnxparser nvinfer_lean nvinfer_dispatch)
    # These names were links to libtenon.so once: linking would write through the links of an old build.
    if(IS_SYMLINK ${CMAKE_BINARY_DIR}/lib/compat/lib${name}.so.10)
      file(REMOVE ${CMAKE_BINARY_DIR}/lib/compat/lib${name}.so.10)
    endif()
    add_library(compat_${name} SHARED ${folder}/${name}.cpp)
    target_link_libraries(compat_${name} PRIVATE ${target})
    tenon_own_exports(compat_${name})
    set_target_properties(compat_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION 10
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/compat)
  endforeach()
endfunction()

# tenon_shared_library(NAME OUTPUT DEPENDS ... [SOURCES ...]): lib<OUTPUT>.so, a shared library that holds every object
# of the static libraries in DEPENDS, whether something refers to it or not, and exports symbols marked TENSORRTAPI.
function(tenon_shared_library name output)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cpp)
    file(CONFIGURE OUTPUT ${ARG_SOURCES} CONTENT "")
  endif()
  add_library(${name} SHARED ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  foreach(depend ${ARG_DEPENDS})
    target_link_libraries(${name} PRIVATE -Wl,--whole-archive $<TARGET_FILE:${depend}> -Wl,--no-whole-archive ${depend})
  endforeach()
  # Its own functions call each other, whatever functions of their names (lib/compat has them) the process finds first.
  target_link_options(${name} PRIVATE -Wl,--no-undefined -Wl,-Bsymbolic-functions)
  tenon_own_exports(${name})
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
endfunction()

# tenon_pytest(NAME [SEES_GPUS] [ARGUMENTS ...] [ENVIRONMENT ...] [PROPERTIES ...]): a test of every *_test.py or test_*.py
# beside the calling CMakeLists.txt, on the CPU: these tests hold results to FP32's bounds, and machines with a GPU would build
# for it. With SEES_GPUS the tests say themselves which device they are for.
# Plans of whole models fill a small disk: the folder of a test that passed is deleted as soon as it ends.
function(tenon_pytest name)
  cmake_parse_arguments(ARG "SEES_GPUS" "" "ARGUMENTS;ENVIRONMENT;PROPERTIES" ${ARGN})
  if(NOT ARG_SEES_GPUS)
    list(PREPEND ARG_ENVIRONMENT CUDA_VISIBLE_DEVICES=-1)
  endif()
  add_test(NAME ${name} COMMAND ${TENON_VENV}/bin/python -m pytest -q -p no:cacheprovider
                                -o tmp_path_retention_policy=failed -o tmp_path_retention_count=1
                                ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENVIRONMENT}" ${ARG_PROPERTIES})
endfunction()
