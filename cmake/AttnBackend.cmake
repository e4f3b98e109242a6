# attn_backend_plugin(<name> <source>...) builds libattn-backend-<name>.so where the tools look for plugins.
# A plugin sees the C headers of the backend boundary and backends/common, and exports attn_backend_get alone.
set(ATTN_BACKEND_SOURCE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set(ATTN_BACKEND_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/backend_exports.map)

function(attn_backend_plugin name)
  set(target attn-backend-${name})
  add_library(${target} MODULE ${ARGN})
  set_target_properties(${target} PROPERTIES
    PREFIX lib SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY ${ATTN_PLUGIN_DIRECTORY}
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${target} PRIVATE
    ATTN_BUILDING_PLUGIN ATTN_BACKEND_VERSION="${PROJECT_VERSION}")
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/libattn/include ${ATTN_BACKEND_SOURCE_DIRECTORY})
  # The version script also hides what templates of the standard library would export.
  target_link_options(${target} PRIVATE LINKER:--version-script=${ATTN_BACKEND_EXPORTS})
  if(NOT ATTN_SANITIZE)  # a sanitizer's own symbols come with the program
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${ATTN_BACKEND_EXPORTS})
  set_property(GLOBAL APPEND PROPERTY ATTN_BACKEND_PLUGINS ${target})
  install(TARGETS ${target} LIBRARY DESTINATION lib/attn/backends)
endfunction()
