#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What a picture can be written as. SVG and PDF are drawings that scale, with text as outlines, so that they
/// look alike wherever they are opened; PNG has two pixels for each unit of length.
enum class PictureFormat { svg, png, pdf };

/// "svg", "png" or "pdf".
std::string to_string(PictureFormat format);

/// The names that picture_format accepts.
const std::vector<std::string>& picture_format_names();

/// The format called `name`, in lower case as to_string gives it. Throws Error (ExitCode::usage) that lists
/// the names.
PictureFormat picture_format(std::string_view name);

/// The format that the extension of a file's name says, in upper or lower case: "figure.PNG" is png. Throws
/// Error (ExitCode::usage) when it has another or none.
PictureFormat picture_format_of_file(std::string_view file_name);

/// An SVG document (a line chart, for instance) as another format, in the size that it states; svg returns it
/// as it is. Equal documents give equal bytes. Throws Error (ExitCode::internal) when it is no valid SVG.
std::string convert_svg(std::string_view svg, PictureFormat format);

}  // namespace attn
