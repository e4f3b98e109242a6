#pragma once
#include <string_view>

namespace attn::dump {

// The files of the folder viewer/, put into the program when it is built.
extern const std::string_view viewer_template;  ///< viewer.html, with {{policy}}, {{title}}, ... in it
extern const std::string_view viewer_style;     ///< viewer.css
extern const std::string_view viewer_script;    ///< the three .js files, one after the other

}  // namespace attn::dump
