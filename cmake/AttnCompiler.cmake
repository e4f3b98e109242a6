# Warnings, sanitizers and the compiler cache, applied to everything that this project builds.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_compile_options(-Wall -Wextra -Wpedantic)
if(ATTN_WERROR)
  add_compile_options(-Werror)
endif()

# Without contraction a result does not depend on how the compiler pairs a product with a sum;
# the backend plugins, where speed matters, turn it on for themselves.
add_compile_options(-ffp-contract=off)

if(ATTN_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
