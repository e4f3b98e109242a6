# Everything comes from the distribution's packages; nothing is downloaded at build time.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ICU REQUIRED COMPONENTS uc)  # categories of Unicode
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(HDF5 REQUIRED COMPONENTS C HL)  # HL: dimension scales

find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # releases before 0.8 export the bare name
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()

# Pictures: text in every script, and drawings as SVG, PNG and PDF.
find_package(PkgConfig REQUIRED)
pkg_check_modules(pangocairo REQUIRED IMPORTED_TARGET pangocairo cairo-pdf cairo-svg cairo-png)
pkg_check_modules(librsvg REQUIRED IMPORTED_TARGET librsvg-2.0)

# Subwords: the processor, and the trainer beside it.
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece)
