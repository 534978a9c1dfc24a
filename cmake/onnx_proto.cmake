# The target tenon_onnx_proto: the messages of the official ONNX schema, which PyPI's onnx package brings along.
# Sources include "onnx_proto/onnx.pb.h". Where the schema or protobuf is missing the target does not exist and
# TENON_HAVE_ONNX is false.

find_package(Protobuf)
file(GLOB schemas ${TENON_VENV}/lib/python3*/site-packages/onnx/onnx.proto)
set(TENON_HAVE_ONNX FALSE)
if(NOT Protobuf_FOUND OR NOT schemas)
  message(WARNING "onnx.proto or protobuf was not found (TENON_VENV=${TENON_VENV}): the ONNX parser is left out; "
                  "run make setup")
  return()
endif()
set(TENON_HAVE_ONNX TRUE)
list(GET schemas 0 schema)
get_filename_component(schema_folder ${schema} DIRECTORY)
set(output ${CMAKE_BINARY_DIR}/generated/onnx_proto)
file(MAKE_DIRECTORY ${output})
add_custom_command(
  OUTPUT ${output}/onnx.pb.cc ${output}/onnx.pb.h
  COMMAND protobuf::protoc --proto_path=${schema_folder} --cpp_out=${output} onnx.proto
  DEPENDS ${schema}
  VERBATIM)
add_library(tenon_onnx_proto STATIC ${output}/onnx.pb.cc ${output}/onnx.pb.h)
target_include_directories(tenon_onnx_proto SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(tenon_onnx_proto PUBLIC protobuf::libprotobuf)
target_compile_options(tenon_onnx_proto PRIVATE -w)
