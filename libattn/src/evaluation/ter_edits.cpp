#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>

#include "attn/evaluation/ter.h"

namespace attn {
namespace {

// tercom's limits, and sacrebleu's own on the number of shifts that are tried.
constexpr std::size_t longest_shift = 10, farthest_shift = 50, beam = 25, most_candidates = 1000;
constexpr std::int64_t unreached = std::numeric_limits<std::int64_t>::max() / 2;

enum class Edit : std::uint8_t { none, keep, substitute, remove, insert };

/// A cell of the edit distance table, and the edit that leads to it.
struct Cell {
  std::int64_t cost = unreached;
  Edit edit = Edit::none;
};

/// How the words of a hypothesis and a reference lie beside each other.
struct Alignment {
  std::vector<std::int64_t> hypothesis_of;  ///< for each word of the reference, -1 before the first
  std::vector<bool> reference_wrong;
  std::vector<bool> hypothesis_wrong;
};

/// The edit distance between hypotheses of one length and a reference, within a band around the diagonal.
/// Rows that depend only on words which a hypothesis shares with the one before it are not computed again:
/// hypotheses of one length have the same band.
class EditDistance {
 public:
  EditDistance(std::u32string_view reference, std::size_t length)
      : reference_(reference),
        length_(length),
        table_((length + 1) * (reference.size() + 1)),
        ratio_(length == 0 ? 1.0 : static_cast<double>(reference.size()) / static_cast<double>(length)) {
    // With very different lengths the bands of neighbouring rows would not touch.
    if (static_cast<double>(beam) < ratio_ / 2) {
      beam_ = static_cast<std::int64_t>(std::ceil(ratio_ / 2 + static_cast<double>(beam)));
    }
    for (std::size_t j = 0; j <= reference.size(); ++j) {
      at(0, j) = {static_cast<std::int64_t>(j), Edit::insert};
    }
  }

  std::int64_t operator()(std::u32string_view hypothesis) {
    const auto [changed, known] =
        std::mismatch(hypothesis.begin(), hypothesis.end(), hypothesis_.begin(), hypothesis_.end());
    const auto first = static_cast<std::size_t>(changed - hypothesis.begin());
    hypothesis_ = hypothesis;
    for (std::size_t i = first + 1; i <= length_; ++i) fill_row(i);
    return at(length_, reference_.size()).cost;
  }

  /// The alignment of the hypothesis that was measured last.
  Alignment alignment() const {
    std::vector<Edit> edits;
    for (std::size_t i = length_, j = reference_.size(); i > 0 || j > 0;) {
      edits.push_back(table_[i * (reference_.size() + 1) + j].edit);
      if (edits.back() != Edit::insert) --i;
      if (edits.back() != Edit::remove) --j;
    }
    Alignment alignment;
    std::int64_t position = -1;
    std::reverse(edits.begin(), edits.end());
    for (const Edit edit : edits) {
      const bool wrong = edit != Edit::keep;
      if (edit != Edit::insert) {
        ++position;
        alignment.hypothesis_wrong.push_back(wrong);
      }
      if (edit != Edit::remove) {
        alignment.hypothesis_of.push_back(position);
        alignment.reference_wrong.push_back(wrong);
      }
    }
    return alignment;
  }

 private:
  Cell& at(std::size_t i, std::size_t j) { return table_[i * (reference_.size() + 1) + j]; }

  void fill_row(std::size_t i) {
    const auto columns = static_cast<std::int64_t>(reference_.size()) + 1;
    const auto diagonal = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * ratio_));
    const std::int64_t begin = std::max<std::int64_t>(0, diagonal - beam_);
    const std::int64_t end = i == length_ ? columns : std::min(columns, diagonal + beam_);
    for (std::int64_t j = 0; j < columns; ++j) at(i, static_cast<std::size_t>(j)) = {};
    for (std::int64_t j = begin; j < end; ++j) fill_cell(i, static_cast<std::size_t>(j));
  }

  // Of equal costs the first counts: tercom's order, seen from the hypothesis.
  void fill_cell(std::size_t i, std::size_t j) {
    Cell best;
    const auto consider = [&best](std::int64_t cost, Edit edit) {
      if (cost < best.cost) best = {cost, edit};
    };
    if (j > 0) {
      const bool same = hypothesis_[i - 1] == reference_[j - 1];
      consider(at(i - 1, j - 1).cost + (same ? 0 : 1), same ? Edit::keep : Edit::substitute);
    }
    consider(at(i - 1, j).cost + 1, Edit::remove);
    if (j > 0) consider(at(i, j - 1).cost + 1, Edit::insert);
    at(i, j) = best;
  }

  std::u32string_view reference_;
  std::size_t length_;
  std::u32string hypothesis_;
  std::vector<Cell> table_;  ///< [length + 1, reference + 1]
  double ratio_;
  std::int64_t beam_ = beam;
};

std::u32string shifted(std::u32string_view words, std::size_t start, std::size_t length, std::size_t target) {
  std::u32string phrase(words.substr(start, length));
  std::u32string others(words);
  others.erase(start, length);
  // A target inside or right behind the phrase counts from where the phrase began.
  const std::size_t position = target > start + length ? target - length : target;
  return others.insert(std::min(position, others.size()), phrase);
}

bool any(const std::vector<bool>& flags, std::size_t start, std::size_t length) {
  const auto begin = flags.begin() + static_cast<std::ptrdiff_t>(start);
  return std::find(begin, begin + static_cast<std::ptrdiff_t>(length), true) !=
         begin + static_cast<std::ptrdiff_t>(length);
}

/// A shift, in tercom's order of preference.
struct Shift {
  std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t> rank;
  std::u32string words;
};

/// The search for the shift that lowers the edit distance most.
class ShiftSearch {
 public:
  ShiftSearch(std::u32string_view hypothesis, std::u32string_view reference, EditDistance& distance,
              std::size_t& candidates)
      : hypothesis_(hypothesis),
        reference_(reference),
        distance_(distance),
        candidates_(candidates),
        cost_(distance(hypothesis)),
        alignment_(distance.alignment()) {}

  /// The best shift, or nothing where no phrase can be shifted; stops early when enough were tried.
  std::optional<Shift> best() {
    for (std::size_t start = 0; start < hypothesis_.size(); ++start) {
      for (std::size_t target = 0; target < reference_.size(); ++target) {
        if ((start > target ? start - target : target - start) > farthest_shift) continue;
        if (!try_phrases(start, target)) return best_;
      }
    }
    return best_;
  }

 private:
  /// Tries every phrase that begins at `start` and that the reference has at `target`; false when enough
  /// shifts were tried.
  bool try_phrases(std::size_t start, std::size_t target) {
    const std::size_t longest =
        std::min({longest_shift, hypothesis_.size() - start, reference_.size() - target});
    for (std::size_t length = 1; length <= longest; ++length) {
      if (hypothesis_[start + length - 1] != reference_[target + length - 1]) return true;
      if (!any(alignment_.hypothesis_wrong, start, length)) continue;
      if (!any(alignment_.reference_wrong, target, length)) continue;
      const std::int64_t aligned = alignment_.hypothesis_of[target];
      const auto begin = static_cast<std::int64_t>(start);
      if (begin <= aligned && aligned < begin + static_cast<std::int64_t>(length)) continue;
      try_positions(start, target, length);
      if (candidates_ >= most_candidates) return false;
    }
    return true;
  }

  void try_positions(std::size_t start, std::size_t target, std::size_t length) {
    std::optional<std::int64_t> tried;
    for (std::size_t step = 0; step <= length; ++step) {  // before the target, and behind each of its words
      if (target + step > reference_.size()) return;
      const std::int64_t position = target + step == 0 ? 0 : alignment_.hypothesis_of[target + step - 1] + 1;
      if (position == tried) continue;
      tried = position;
      try_shift(start, length, position);
    }
  }

  void try_shift(std::size_t start, std::size_t length, std::int64_t position) {
    Shift shift{{}, shifted(hypothesis_, start, length, static_cast<std::size_t>(position))};
    shift.rank = {cost_ - distance_(shift.words), static_cast<std::int64_t>(length),
                  -static_cast<std::int64_t>(start), -position};
    ++candidates_;
    if (!best_ || shift.rank > best_->rank) best_ = std::move(shift);
  }

  std::u32string_view hypothesis_;
  std::u32string_view reference_;
  EditDistance& distance_;
  std::size_t& candidates_;
  std::int64_t cost_;
  Alignment alignment_;
  std::optional<Shift> best_;
};

}  // namespace

TranslationEdits translation_edits(std::u32string_view hypothesis, std::u32string_view reference) {
  if (reference.empty()) return {hypothesis.size(), 0};
  EditDistance distance(reference, hypothesis.size());
  std::u32string words(hypothesis);
  std::size_t shifts = 0, candidates = 0;
  while (true) {
    std::optional<Shift> shift = ShiftSearch(words, reference, distance, candidates).best();
    // As in sacrebleu, the shift at which the limit was reached is not made.
    if (candidates >= most_candidates || !shift || std::get<0>(shift->rank) <= 0) break;
    words = std::move(shift->words);
    ++shifts;
  }
  return {shifts + static_cast<std::size_t>(distance(words)), shifts};
}

}  // namespace attn
