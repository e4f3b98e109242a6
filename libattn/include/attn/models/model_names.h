#pragma once
#include <array>
#include <string_view>
#include <utility>

#include "attn/models/translation_model.h"

/// The names that configuration files and checkpoints use for the choices of a ModelConfig.
namespace attn::names {

template<typename Enum, std::size_t count>
using Table = std::array<std::pair<std::string_view, Enum>, count>;

inline constexpr Table<ModelConfig::Type, 3> model_types{
    {{"seq2seq", ModelConfig::Type::seq2seq},
     {"seq2seq-attention", ModelConfig::Type::seq2seq_attention},
     {"transformer", ModelConfig::Type::transformer}}};
inline constexpr Table<RecurrentCell, 2> cells{{{"gru", RecurrentCell::gru}, {"lstm", RecurrentCell::lstm}}};
inline constexpr Table<Scoring, 3> scorings{
    {{"additive", Scoring::additive}, {"dot", Scoring::dot}, {"general", Scoring::general}}};
inline constexpr Table<ModelConfig::Norm, 2> norms{
    {{"post", ModelConfig::Norm::post}, {"pre", ModelConfig::Norm::pre}}};
inline constexpr Table<ModelConfig::Tying, 3> tyings{{{"none", ModelConfig::Tying::none},
                                                      {"output", ModelConfig::Tying::output},
                                                      {"all", ModelConfig::Tying::all}}};
inline constexpr Table<PositionKind, 3> positions{{{"none", PositionKind::none},
                                                   {"sinusoidal", PositionKind::sinusoidal},
                                                   {"learned", PositionKind::learned}}};
inline constexpr Table<attn_masking, 2> maskings{{{"exact", ATTN_MASK_EXACT}, {"book", ATTN_MASK_BOOK}}};

/// The name of a value; every value of these tables has one.
template<typename Enum, std::size_t count>
constexpr std::string_view of(const Table<Enum, count>& table, Enum value) {
  for (const auto& [name, candidate] : table) {
    if (candidate == value) return name;
  }
  return "?";
}

}  // namespace attn::names
