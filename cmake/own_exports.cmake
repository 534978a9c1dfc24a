# tenon_own_exports(TARGET): a shared library that offers its own functions, and nothing of the libraries that are linked into it.
function(tenon_own_exports target)
  if(TENON_SANITIZE)
    return()
  endif()
  set(map ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()
