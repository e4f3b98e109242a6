#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// The links of a sentence pair: (source word, target word), counted from 0.
struct WordLinks {
  using Link = std::pair<std::int64_t, std::int64_t>;
  std::set<Link> sure;
  std::set<Link> possible;  ///< the sure ones among them
  friend bool operator==(const WordLinks&, const WordLinks&) = default;
};

/// How the words of a pair are counted.
struct WordCounts {
  std::size_t source = 0, target = 0;
};

/// How links are read.
struct AlignmentFormat {
  std::int64_t first = 0;         ///< number of the first word, 0 or 1
  bool possible_allowed = false;  ///< whether links may be marked as merely possible
};

/// One line in Pharaoh's format, "0-0 2-1": source-target, separated by white space. In references `2p1` and
/// `2?1` are possible links, `2-1` sure ones; a link that is given as both is sure. `place` ("ref.txt:12")
/// stands before messages; with `counts`, links have to lie within the sentences. Throws Error(input_data)
/// for anything else.
WordLinks parse_links(std::string_view line, const std::string& place, const AlignmentFormat& format,
                      const std::optional<WordCounts>& counts = std::nullopt);

/// What an alignment is judged by; sums over sentences may be added.
struct AlignmentCounts {
  std::size_t links = 0;              ///< of the hypothesis: |A|
  std::size_t sure = 0;               ///< |S|
  std::size_t possible = 0;           ///< |P|, the sure ones among them
  std::size_t links_in_sure = 0;      ///< |A and S|
  std::size_t links_in_possible = 0;  ///< |A and P|

  AlignmentCounts& operator+=(const AlignmentCounts& other);

  /// |A and P| / |A|; 1 without any link.
  double precision() const;
  /// |A and S| / |S|; 1 without any sure link.
  double recall() const;
  /// 1 - (|A and S| + |A and P|) / (|A| + |S|) (Och and Ney, 2003, https://aclanthology.org/J03-1002, section
  /// 6); 0 without any link on either side. Between 0 and 1, less is better.
  double error_rate() const;
};

/// The counts of one sentence pair.
AlignmentCounts compare_links(const WordLinks& hypothesis, const WordLinks& reference);

/// The files of an evaluation.
struct AlignmentFiles {
  std::string hypothesis, reference;
  std::string source, target;        ///< texts that links have to lie within; either may be empty
  std::int64_t reference_first = 0;  ///< number of the first word in the reference, 0 or 1
};

/// The counts over all lines, and how many lines there are.
struct AlignmentEvaluation {
  std::size_t sentences = 0;
  AlignmentCounts counts;
};

/// Compares two files of links line by line. Throws Error(input_data) that names file and line for a
/// malformed link or one outside its sentence, and both counts for files of unequal length; Error(file) for
/// one that cannot be read.
AlignmentEvaluation evaluate_alignments(const AlignmentFiles& files);

}  // namespace attn
