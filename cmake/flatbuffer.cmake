# tenon_flatbuffer(TARGET FILE.fbs): generates FILE_generated.h, which sources of TARGET and of everything that depends
# on it include as "<folder under src>/FILE_generated.h". Call it after the target exists.

find_program(TENON_FLATC flatc REQUIRED)

function(tenon_flatbuffer target schema)
  get_filename_component(name ${schema} NAME_WE)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  set(output ${CMAKE_BINARY_DIR}/generated/${folder})
  add_custom_command(
    OUTPUT ${output}/${name}_generated.h
    COMMAND ${TENON_FLATC} --cpp --scoped-enums --cpp-std c++17 -o ${output} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
    DEPENDS ${schema}
    VERBATIM)
  add_custom_target(${target}_${name}_fbs DEPENDS ${output}/${name}_generated.h)
  add_dependencies(${target} ${target}_${name}_fbs)
endfunction()
