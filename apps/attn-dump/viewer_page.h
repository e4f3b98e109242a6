#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/inspection/attention_archive.h"

namespace attn::dump {

/// The maps of one kind that a page shows: places in KindInfo::layers and KindInfo::heads.
struct KindSelection {
  AttentionKind kind = AttentionKind::cross;
  std::vector<std::size_t> layers, heads;
};

/// What of an archive a page shows.
struct ViewerSelection {
  std::vector<std::size_t> sentences;
  std::vector<KindSelection> kinds;
};

/// About how many bytes write_viewer_page would write, from the lengths of the sentences alone.
std::uint64_t estimated_page_bytes(const AttentionArchive& archive, const ViewerSelection& selection);

/// Writes the page piece by piece, so that no more than one sentence is in memory beside the tokens. The page
/// needs nothing else: style and program are inside, named by their hashes in its content security policy,
/// which allows no request. Weights are base64 of little-endian float32, bit for bit as in the archive.
/// `after_sentence` is called after each sentence; what it throws ends the writing.
void write_viewer_page(const AttentionArchive& archive, const ViewerSelection& selection,
                       const std::function<void(std::string_view)>& write,
                       const std::function<void()>& after_sentence);

/// JSON that may stand inside <script>: without <, >, & and the line ends U+2028 and U+2029.
std::string json_for_script(std::string_view json);

std::string base64(std::string_view bytes);

}  // namespace attn::dump
