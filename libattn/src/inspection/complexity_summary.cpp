#include "complexity_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace attn::inspection {
namespace {

using Key = std::tuple<std::string, Pass, std::int64_t, EncoderKind, std::int64_t, std::int64_t, std::int64_t,
                       std::int64_t, std::int64_t>;

// Cells that differ in one size only, which `without` sets to a constant.
template<typename Without>
std::vector<std::vector<const ComplexityCell*>> series_of(const std::vector<ComplexityCell>& cells,
                                                          Without without) {
  std::vector<std::vector<const ComplexityCell*>> series;
  std::map<std::tuple<Key, std::int64_t>, std::size_t> places;
  for (const ComplexityCell& cell : cells) {
    EncoderOptions e = cell.encoder;
    std::int64_t length = cell.length;
    without(e, length);
    const std::tuple key{
        Key{cell.backend, cell.pass, cell.batch, e.kind, e.width, e.layers, e.kernel, e.heads, e.window},
        length};
    const auto [place, fresh] = places.emplace(key, series.size());
    if (fresh) series.emplace_back();
    series[place->second].push_back(&cell);
  }
  return series;
}

std::vector<std::vector<const ComplexityCell*>> series_in_length(const std::vector<ComplexityCell>& cells) {
  return series_of(cells, [](EncoderOptions&, std::int64_t& length) { length = 0; });
}

double seconds_of(const ComplexityCell& cell) {
  return cell.timing ? cell.timing->representative : 0;
}

ComplexityFit fit(const std::vector<const ComplexityCell*>& series, bool over_length, std::size_t points) {
  ComplexityFit fit;
  const ComplexityCell& last = *series.back();
  fit.backend = last.backend;
  fit.pass = last.pass;
  fit.encoder = last.encoder;
  fit.batch = last.batch;
  fit.over_length = over_length;
  fit.length = last.length;
  const Orders orders = textbook_orders(last.encoder.kind);
  fit.textbook = over_length ? orders.length : orders.width;
  std::vector<double> x, flops, seconds;
  for (const ComplexityCell* cell : series) {
    x.push_back(static_cast<double>(over_length ? cell->length : cell->encoder.width));
    flops.push_back(cell->counted ? cell->cost.flops : 0);
    seconds.push_back(seconds_of(*cell));
  }
  fit.flops = fit_power_law(x, flops, points);
  fit.seconds = fit_power_law(x, seconds, points);
  return fit;
}

// The least n at which attention costs at least as much as the other layer by count.
double equal_flops(const EncoderOptions& attention, const EncoderOptions& other, std::int64_t batch,
                   Pass pass) {
  const auto costs_more = [&](std::int64_t n) {
    return closed_form_flops(attention, batch, n, pass) >= closed_form_flops(other, batch, n, pass);
  };
  std::int64_t below = 0, above = 1;
  while (!costs_more(above) && above < (std::int64_t{1} << 40)) {
    below = above;
    above *= 2;
  }
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (costs_more(middle) ? above : below) = middle;
  }
  return static_cast<double>(above);
}

bool comparable(const ComplexityCell& a, const ComplexityCell& b) {
  return a.backend == b.backend && a.pass == b.pass && a.batch == b.batch &&
         a.encoder.width == b.encoder.width && a.encoder.layers == b.encoder.layers;
}

ComplexityCrossover crossover(const std::vector<const ComplexityCell*>& attention,
                              const std::vector<const ComplexityCell*>& other) {
  ComplexityCrossover result;
  const ComplexityCell& first = *attention.front();
  result.backend = first.backend;
  result.pass = first.pass;
  result.batch = first.batch;
  result.attention = first.encoder;
  result.other = other.front()->encoder;
  const auto width = static_cast<double>(first.encoder.width);
  result.by_order =
      is_recurrent(result.other.kind) ? width : static_cast<double>(result.other.kernel) * width;
  result.by_count = equal_flops(result.attention, result.other, first.batch, first.pass);
  std::vector<double> n, rising, against;
  for (const ComplexityCell* cell : attention) {
    n.push_back(static_cast<double>(cell->length));
    rising.push_back(seconds_of(*cell));
    const auto same = std::find_if(other.begin(), other.end(), [&](const ComplexityCell* candidate) {
      return candidate->length == cell->length;
    });
    against.push_back(same != other.end() ? seconds_of(**same) : 0);
  }
  result.by_time = find_crossing(n, rising, against);
  return result;
}

}  // namespace

std::vector<ComplexityFit> fit_all(const std::vector<ComplexityCell>& cells, std::size_t points) {
  std::vector<ComplexityFit> fits;
  for (const auto& series : series_in_length(cells)) {
    if (series.size() > 1) fits.push_back(fit(series, true, points));
  }
  std::int64_t longest = 0;
  for (const ComplexityCell& cell : cells) longest = std::max(longest, cell.length);
  for (const auto& series :
       series_of(cells, [](EncoderOptions&options, std::int64_t&) { options.width = 0; })) {
    if (series.size() > 1 && series.front()->length == longest) fits.push_back(fit(series, false, points));
  }
  return fits;
}

std::vector<ComplexityCrossover> find_crossovers(const std::vector<ComplexityCell>& cells) {
  const auto all = series_in_length(cells);
  std::vector<ComplexityCrossover> crossovers;
  for (const auto& attention : all) {
    const EncoderKind kind = attention.front()->encoder.kind;
    if (kind != EncoderKind::self_attention && kind != EncoderKind::multi_head_attention) continue;
    for (const auto& other : all) {
      const EncoderKind rival = other.front()->encoder.kind;
      if (!is_recurrent(rival) && rival != EncoderKind::convolution) continue;
      if (comparable(*attention.front(), *other.front())) crossovers.push_back(crossover(attention, other));
    }
  }
  return crossovers;
}

}  // namespace attn::inspection
