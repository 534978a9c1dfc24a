# Contents of `cmake --install` and of the packages (`make package`), below one prefix that can be moved:
#
#   bin/tenon, bin/trtexec              the programs
#   lib/libtenon.so, libtenon_cuda.so   the library, and its part for NVIDIA GPUs
#   include/tenon/                      the headers; a folder of their own, so that they never come before TensorRT's
#   lib/cmake/tenon/                    find_package(tenon), and FindTensorRT.cmake beside it
#   lib/pkgconfig/                      tenon.pc, tenon-tensorrt.pc
#   lib/tenon/tensorrt/                 lib, include and bin by TensorRT's names: the folder for TensorRT_ROOT
#
# The Python packages are a component of their own (`python`) that only wheels install.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(tenon_headers ${CMAKE_INSTALL_INCLUDEDIR}/tenon)
set(tenon_cmake ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
set(tenon_pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(tenon_tensorrt ${CMAKE_INSTALL_LIBDIR}/tenon/tensorrt)
set(tenon_compat nvinfer nvinfer_plugin nvonnxparser nvinfer_lean nvinfer_dispatch)

# tenon_relative(OUT FROM TO): the way from folder FROM to folder TO, both below the prefix.
function(tenon_relative out from to)
  file(RELATIVE_PATH way /prefix/${from} /prefix/${to})
  string(REGEX REPLACE "/$" "" way "${way}")
  set(${out} ${way} PARENT_SCOPE)
endfunction()

# Libraries and programs find each other from where they lie, in the build folder as in the prefix.
tenon_relative(from_bin ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBDIR})
tenon_relative(from_compat ${tenon_tensorrt}/lib ${CMAKE_INSTALL_LIBDIR})
set_target_properties(tenon PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
set(program_path "$ORIGIN/../lib" "$ORIGIN/${from_bin}")
list(REMOVE_DUPLICATES program_path)
set_target_properties(tenon_program PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${program_path}")
install(TARGETS tenon EXPORT tenon LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${tenon_headers})
install(TARGETS tenon_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "file(CREATE_LINK tenon \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/trtexec\" SYMBOLIC)")
set(tenon_installed tenon tenon_program)
if(TARGET tenon_cuda)
  set_target_properties(tenon_cuda PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  install(TARGETS tenon_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  list(APPEND tenon_installed tenon_cuda)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION ${tenon_headers} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The libraries by TensorRT's names, in a folder laid out like a TensorRT of one's own.
foreach(name ${tenon_compat})
  set_target_properties(compat_${name} PROPERTIES EXPORT_NAME ${name} BUILD_WITH_INSTALL_RPATH ON
                        INSTALL_RPATH "$ORIGIN/..;$ORIGIN/${from_compat}")
  install(TARGETS compat_${name} EXPORT tenon LIBRARY DESTINATION ${tenon_tensorrt}/lib)
  list(APPEND tenon_installed compat_${name})
endforeach()
tenon_relative(to_headers ${tenon_tensorrt} ${tenon_headers})
tenon_relative(to_programs ${tenon_tensorrt} ${CMAKE_INSTALL_BINDIR})
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${tenon_tensorrt}\")
  file(CREATE_LINK ${to_headers} \"\${folder}/include\" SYMBOLIC)
  file(CREATE_LINK ${to_programs} \"\${folder}/bin\" SYMBOLIC)")

# Files by which other builds find it.
file(STRINGS ${CMAKE_SOURCE_DIR}/include/NvInferVersion.h numbers REGEX "define NV_TENSORRT_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" numbers "${numbers}")
list(JOIN numbers "." TENSORRT_VERSION)
install(EXPORT tenon NAMESPACE tenon:: FILE tenonTargets.cmake DESTINATION ${tenon_cmake})
set(generated ${CMAKE_BINARY_DIR}/generated/package)
configure_package_config_file(cmake/tenonConfig.cmake.in ${generated}/tenonConfig.cmake INSTALL_DESTINATION ${tenon_cmake}
                              PATH_VARS tenon_headers tenon_tensorrt NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${generated}/tenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/FindTensorRT.cmake.in ${generated}/FindTensorRT.cmake @ONLY)
install(FILES ${generated}/tenonConfig.cmake ${generated}/tenonConfigVersion.cmake ${generated}/FindTensorRT.cmake
        DESTINATION ${tenon_cmake})
# With TensorRT_ROOT set to the folder above, find_package(TensorRT) needs no module path.
tenon_relative(to_module ${tenon_tensorrt}/lib/cmake/TensorRT ${tenon_cmake})
file(WRITE ${generated}/TensorRTConfig.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/${to_module}/FindTensorRT.cmake)\n")
write_basic_package_version_file(${generated}/TensorRTConfigVersion.cmake VERSION ${TENSORRT_VERSION}
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${generated}/TensorRTConfig.cmake ${generated}/TensorRTConfigVersion.cmake
        DESTINATION ${tenon_tensorrt}/lib/cmake/TensorRT)
tenon_relative(to_prefix ${tenon_pkgconfig} "")
foreach(name tenon tenon-tensorrt)
  configure_file(cmake/${name}.pc.in ${generated}/${name}.pc @ONLY)
  install(FILES ${generated}/${name}.pc DESTINATION ${tenon_pkgconfig})
endforeach()

# Everything that is installed, and nothing else: the targets of `make install` and `make package`.
add_custom_target(tenon_installable DEPENDS ${tenon_installed})

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VENDOR "the Tenon authors")
set(CPACK_PACKAGE_CONTACT "the Tenon authors <tenon@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Inference optimizer and runtime with TensorRT's API, for NVIDIA GPUs and CPUs")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME tenon-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
