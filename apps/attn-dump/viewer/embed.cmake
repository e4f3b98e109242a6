# Writes OUTPUT, a C++ source with the files of the page as constants.
#   cmake -D FOLDER=... -D OUTPUT=... -P embed.cmake
function(append_constant name)
  set(bytes "")
  foreach(file ${ARGN})
    file(READ ${FOLDER}/${file} content HEX)
    string(APPEND bytes "${content}")
  endforeach()
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  # A line of a hundred characters rather than one of a megabyte.
  string(REGEX REPLACE "(('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',))" "\\1\n" bytes "${bytes}")
  set(source "${source}constexpr char ${name}_bytes[] = {\n${bytes}};\n" PARENT_SCOPE)
endfunction()

set(source "")
append_constant(template viewer.html)
append_constant(style viewer.css)
append_constant(script maps.js drawing.js app.js)
file(WRITE ${OUTPUT}.new "#include \"viewer_files.h\"

namespace attn::dump {
namespace {
${source}}  // namespace

const std::string_view viewer_template(template_bytes, sizeof template_bytes);
const std::string_view viewer_style(style_bytes, sizeof style_bytes);
const std::string_view viewer_script(script_bytes, sizeof script_bytes);

}  // namespace attn::dump
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
