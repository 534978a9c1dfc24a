# The target tenon_onnx_proto: the messages of the official ONNX schema, which PyPI's onnx package brings along.
# Sources include "onnx_proto/onnx.pb.h".

find_package(Protobuf REQUIRED)
file(GLOB schemas ${TENON_VENV}/lib/python3*/site-packages/onnx/onnx.proto)
if(NOT schemas)
  message(FATAL_ERROR "onnx.proto was not found in TENON_VENV=${TENON_VENV}: run make setup, or pass -DTENON_VENV")
endif()
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
