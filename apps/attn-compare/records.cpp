#include "records.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace attn::compare {
namespace {

using Json = nlohmann::ordered_json;

Json sizes_of(const EncoderOptions& encoder) {
  Json json{{"layer_type", name_of(encoder.kind)}, {"width", encoder.width}, {"layers", encoder.layers}};
  if (uses_kernel(encoder.kind)) json["kernel"] = encoder.kernel;
  if (uses_kernel(encoder.kind))
    json["causal"] = encoder.causal || encoder.kind == EncoderKind::dilated_convolution;
  if (uses_heads(encoder.kind)) json["heads"] = encoder.heads;
  if (uses_window(encoder.kind)) json["window"] = encoder.window;
  return json;
}

Json operations_of(const ComplexityCost& cost) {
  Json operations = Json::array();
  for (const OperationCost& operation : cost.operations) {
    operations.push_back({{"name", operation.name},
                          {"uses", operation.uses},
                          {"flops", operation.flops},
                          {"bytes", operation.bytes}});
  }
  return operations;
}

Json timing_of(const ComplexityTiming& timing) {
  return {{"seconds_median", timing.median}, {"seconds_min", timing.minimum},
          {"seconds_max", timing.maximum},   {"repeats", timing.repeats},
          {"gflops", timing.gflops},         {"peak_share", timing.peak_share},
          {"peak_bytes", timing.peak_bytes}};
}

Json cell_of(const ComplexityCell& cell) {
  Json json{{"backend", cell.backend}, {"pass", name_of(cell.pass)}};
  json.update(sizes_of(cell.encoder));
  json["batch"] = cell.batch;
  json["length"] = cell.length;
  json["counted"] = cell.counted;
  json["flops"] = cell.cost.flops;
  json["parameters"] = cell.cost.parameters;
  if (cell.counted) {
    json["bytes"] = cell.cost.bytes;
    json["activation_bytes"] = cell.cost.activation_bytes;
    json["operations"] = operations_of(cell.cost);
  }
  json["sequential_operations"] = cell.sequential_operations;
  json["path_length"] = cell.path_length ? Json(*cell.path_length) : Json();
  json["path_verified"] = cell.path_verified;
  if (cell.timing) json.update(timing_of(*cell.timing));
  if (!cell.skipped.empty()) json["skipped"] = cell.skipped;
  return json;
}

Json law_of(const std::optional<PowerLaw>& law) {
  if (!law) return {};
  return {{"exponent", law->exponent},
          {"standard_error", law->standard_error ? Json(*law->standard_error) : Json()},
          {"factor", law->factor},
          {"points", law->points},
          {"from", law->first_x}};
}

Json fit_of(const ComplexityFit& fit) {
  Json json{
      {"over", fit.over_length ? "length" : "width"}, {"backend", fit.backend}, {"pass", name_of(fit.pass)}};
  json.update(sizes_of(fit.encoder));
  if (!fit.over_length) {
    json.erase("width");
    json["length"] = fit.length;
  }
  json["batch"] = fit.batch;
  json["textbook"] = fit.textbook;
  json["flops"] = law_of(fit.flops);
  json["seconds"] = law_of(fit.seconds);
  return json;
}

Json crossing_of(const std::optional<Crossing>& crossing) {
  if (!crossing) return {};
  const char* const relation = crossing->kind == Crossing::Kind::below ? "below"
                               : crossing->kind == Crossing::Kind::at  ? "at"
                                                                       : "above";
  return {{"relation", relation}, {"length", crossing->x}};
}

Json crossover_of(const ComplexityCrossover& crossover) {
  return {{"backend", crossover.backend},       {"pass", name_of(crossover.pass)},
          {"batch", crossover.batch},           {"attention", sizes_of(crossover.attention)},
          {"other", sizes_of(crossover.other)}, {"by_order", crossover.by_order},
          {"by_flops", crossover.by_count},     {"by_time", crossing_of(crossover.by_time)}};
}

Json device_of(const ComplexityDevice& device) {
  Json json{{"backend", device.backend}, {"version", device.version},         {"device", device.device},
            {"threads", device.threads}, {"peak_gflops", device.peak_gflops}, {"decomposed", Json::object()}};
  for (const auto& [kind, lacking] : device.decomposed) json["decomposed"][kind] = lacking;
  return json;
}

template<typename Items, typename Convert>
Json list_of(const Items& items, Convert convert) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(convert(item));
  return list;
}

// A field of a CSV file by RFC 4180.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const ComplexityCell& cell) {
  const EncoderOptions& e = cell.encoder;
  const auto if_used = [](bool used, std::int64_t value) {
    return used ? std::to_string(value) : std::string();
  };
  std::string line = fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{:.0f},", field(cell.backend), name_of(cell.pass), name_of(e.kind),
      cell.length, e.width, if_used(uses_kernel(e.kind), e.kernel), if_used(uses_heads(e.kind), e.heads),
      if_used(uses_window(e.kind), e.window), e.layers, cell.batch, cell.counted ? 1 : 0, cell.cost.flops);
  line += cell.counted ? fmt::format("{:.0f},{:.0f},", cell.cost.bytes, cell.cost.activation_bytes) : ",,";
  line += fmt::format("{},{},{},{},", cell.cost.parameters, cell.sequential_operations,
                      cell.path_length ? std::to_string(*cell.path_length) : "", cell.path_verified ? 1 : 0);
  if (cell.timing) {
    const ComplexityTiming& t = *cell.timing;
    line += fmt::format("{:.6g},{:.6g},{:.6g},{},{:.6g},{:.6g},{:.0f},", t.median, t.minimum, t.maximum,
                        t.repeats, t.gflops, t.peak_share, t.peak_bytes);
  } else {
    line += ",,,,,,,";
  }
  return line + field(cell.skipped) + "\n";
}

}  // namespace

std::string as_json(const ComplexityReport& report) {
  const Json json{{"devices", list_of(report.devices, device_of)},
                  {"cells", list_of(report.cells, cell_of)},
                  {"fits", list_of(report.fits, fit_of)},
                  {"crossovers", list_of(report.crossovers, crossover_of)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_csv(const ComplexityReport& report) {
  std::string text =
      "backend,pass,layer_type,length,width,kernel,heads,window,layers,batch,counted,flops,bytes,"
      "activation_bytes,parameters,sequential_operations,path_length,path_verified,seconds_median,"
      "seconds_min,seconds_max,repeats,gflops,peak_share,peak_bytes,skipped\n";
  for (const ComplexityCell& cell : report.cells) text += csv_line(cell);
  return text;
}

}  // namespace attn::compare
