#include <algorithm>
#include <cmath>

#include "attn/decoding/translator.h"
#include "attn/inspection/archive_validation.h"
#include "attn/inspection/attention_archive.h"
#include "attn/inspection/attention_statistics.h"
#include "inspection/small_system.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace {

using namespace attn;
using namespace attn::test;

std::vector<ModelConfig> configs_with_attention() {
  return {small_transformer(), small_recurrent()};
}

std::string findings_of(const std::filesystem::path& path) {
  std::string text;
  for (const Finding& finding : validate_file(path).findings)
    text += finding.path + ": " + finding.what + "\n";
  return text;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  float largest = 0.0F;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("a dump has one row for each line, and validates") {
  const TemporaryFolder folder;
  for (const ModelConfig& config : configs_with_attention()) {
    const TranslationSystem system = small_system(config);
    const auto path = folder.path() / "a.h5";
    CHECK(dump(system, some_lines(), path) == 0);
    CHECK(findings_of(path).empty());
    const AttentionArchive archive = AttentionArchive::open(path);
    REQUIRE(archive.sentences() == some_lines().size());
    CHECK(archive.kinds().size() == (config.type == ModelConfig::Type::transformer ? 3 : 1));
    const Translator translator(*system.model, system.config, system.text);
    for (std::size_t i = 0; i < archive.sentences(); ++i) {
      const auto sentence = archive.sentence(i);
      const std::vector<std::string> text{some_lines()[i].source};
      const Translation expected = translator.translate(text).front();
      CHECK(sentence.line == i + 1);
      CHECK(sentence.source_text == text.front());
      CHECK(sentence.target_text == expected.text());
      CHECK(sentence.status == (i == 1 ? LineStatus::empty : LineStatus::ok));
      CHECK(archive.source_tokens(i).size() == (i == 1 ? 0 : expected.source.ids.size()));
    }
  }
}

TEST_CASE("a blank line has blocks of length zero and no score") {
  const TemporaryFolder folder;
  dump(small_system(small_transformer()), some_lines(), folder.path() / "a.h5");
  const AttentionArchive archive = AttentionArchive::open(folder.path() / "a.h5");
  CHECK(std::isnan(archive.sentence(1).score));
  for (const AttentionKind kind : archive.kinds()) {
    const auto block = archive.block(kind, 1);
    CHECK(block.queries == 0);
    CHECK(block.weights.empty());
    for (const float entropy : archive.entropy(kind, 1)) CHECK(std::isnan(entropy));
  }
}

TEST_CASE("tokens know their bytes; unknown words keep theirs, special tokens have none") {
  const TemporaryFolder folder;
  dump(small_system(small_transformer()), some_lines(), folder.path() / "a.h5");
  const AttentionArchive archive = AttentionArchive::open(folder.path() / "a.h5");
  const auto tokens = archive.source_tokens(4);  // "zzz  a,"
  REQUIRE(tokens.size() == 4);
  CHECK((tokens[0].text == "<unk>" && tokens[0].begin == 0 && tokens[0].end == 3));
  CHECK((tokens[1].text == "a" && tokens[1].begin == 5 && tokens[1].end == 6));
  CHECK((tokens[3].text == "<eos>" && !tokens[3].has_span()));
  for (std::size_t i = 0; i < archive.sentences(); ++i) {
    const std::string text = archive.sentence(i).target_text;
    const auto target = archive.target_tokens(i), fed = archive.decoder_input_tokens(i);
    REQUIRE(fed.size() == target.size());
    for (std::size_t t = 0; t < target.size(); ++t) {
      if (target[t].has_span()) {
        const auto begin = static_cast<std::size_t>(target[t].begin);
        CHECK(text.substr(begin, static_cast<std::size_t>(target[t].end) - begin) == target[t].text);
      } else {
        CHECK(target[t].text == "<eos>");
      }
      CHECK(fed[t].text == (t == 0 ? "<bos>" : target[t - 1].text));
    }
  }
}

// What a search sees step by step against the second pass along its result.
TEST_CASE("the maps of a forced run are those of decoding the same tokens step by step") {
  for (const ModelConfig& config : configs_with_attention()) {
    const TranslationSystem system = small_system(config);
    const std::vector<std::int32_t> ids{4, 5, 6, 7, Vocabulary::eos};
    const auto length = static_cast<std::int32_t>(ids.size());
    const TokenBatch source{1, length, ids, std::span(&length, 1)};
    const std::vector<std::int32_t> target{8, 4, 4, 7, 5, Vocabulary::eos};
    const auto kinds = select_attention(*system.model, {});
    const SentenceMaps forced = record_attention(*system.model, kinds, source, std::span(&target, 1)).front();

    // rows[kind][layer]: [step][head][key]
    std::vector<std::vector<std::vector<std::vector<float>>>> rows(kinds.size());
    for (std::size_t k = 0; k < kinds.size(); ++k) rows[k].resize(kinds[k].layers.size());
    Context context;
    context.observe([&](AttentionKind kind, std::int64_t layer, const Tensor& weights) {
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        if (kinds[k].kind == kind && kind != AttentionKind::encoder_self)
          rows[k][static_cast<std::size_t>(layer)].push_back(weights.to_vector<float>());
      }
    });
    const auto state = system.model->encode(source, static_cast<std::int64_t>(target.size()), context);
    std::int32_t fed = Vocabulary::bos;
    for (const std::int32_t token : target) {
      system.model->step(*state, std::span(&fed, 1), context);
      fed = token;
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds[k].kind == AttentionKind::encoder_self) continue;
      const bool self = kinds[k].kind == AttentionKind::decoder_self;
      const std::size_t heads = kinds[k].heads.size(), queries = target.size();
      const std::size_t keys = self ? queries : ids.size();
      for (std::size_t layer = 0; layer < kinds[k].layers.size(); ++layer) {
        REQUIRE(rows[k][layer].size() == queries);
        for (std::size_t head = 0; head < heads; ++head) {
          for (std::size_t query = 0; query < queries; ++query) {
            const std::vector<float>& step = rows[k][layer][query];
            const std::size_t step_keys = step.size() / heads;
            for (std::size_t key = 0; key < std::min(keys, step_keys); ++key) {
              const float expected = step[head * step_keys + key];
              const float found = forced.blocks[k][((layer * heads + head) * queries + query) * keys + key];
              CHECK(std::abs(found - expected) < 1e-5F);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("forcing a model's own translations gives the maps of translating") {
  const TemporaryFolder folder;
  for (const ModelConfig& config : configs_with_attention()) {
    const TranslationSystem system = small_system(config);
    dump(system, some_lines(), folder.path() / "free.h5");
    const AttentionArchive free = AttentionArchive::open(folder.path() / "free.h5");
    std::vector<AttentionDump::Line> lines;
    for (std::size_t i = 0; i < free.sentences(); ++i) {
      const auto sentence = free.sentence(i);
      lines.push_back({sentence.source_text, sentence.target_text});
    }
    AttentionDumpOptions options;
    options.forced = true;
    dump(system, lines, folder.path() / "forced.h5", options);
    CHECK(findings_of(folder.path() / "forced.h5").empty());
    const AttentionArchive forced = AttentionArchive::open(folder.path() / "forced.h5");
    for (const AttentionKind kind : free.kinds()) {
      CHECK((forced.info(kind).forced && !free.info(kind).forced));
      for (std::size_t i = 0; i < free.sentences(); ++i) {
        const auto a = free.block(kind, i), b = forced.block(kind, i);
        // A translation that was cut off has no row for <eos>, and an unknown word reads "<unk>" again.
        const auto rows = std::min(a.queries, b.queries);
        if (a.queries == b.queries) CHECK(largest_difference(a.weights, b.weights) < 1e-5F);
        CHECK(rows + 1 >= a.queries);
      }
    }
  }
}

TEST_CASE("reference and eigen give the same attention to 1e-5") {
  const TemporaryFolder folder;
  for (const ModelConfig& config : configs_with_attention()) {
    TranslationSystem eigen;
    try {
      eigen = small_system(config, "eigen");
    } catch (const Error& error) {
      WARN("not tested: " << error.what());
      return;
    }
    std::vector<AttentionDump::Line> lines = some_lines();
    for (AttentionDump::Line& line : lines) line.target = "b c d a";
    AttentionDumpOptions options;
    options.forced = true;
    dump(eigen, lines, folder.path() / "eigen.h5", options);
    dump(small_system(config), lines, folder.path() / "reference.h5", options);
    const AttentionArchive a = AttentionArchive::open(folder.path() / "eigen.h5");
    const AttentionArchive b = AttentionArchive::open(folder.path() / "reference.h5");
    for (const AttentionKind kind : a.kinds()) {
      for (std::size_t i = 0; i < a.sentences(); ++i)
        CHECK(largest_difference(a.block(kind, i).weights, b.block(kind, i).weights) < 1e-5F);
    }
  }
}

TEST_CASE("a beam's surviving hypothesis is the one that is dumped") {
  const TemporaryFolder folder;
  const TranslationSystem system = small_system(small_transformer());
  AttentionDumpOptions options;
  options.search.beam = 3;
  dump(system, some_lines(), folder.path() / "a.h5", options);
  const AttentionArchive archive = AttentionArchive::open(folder.path() / "a.h5");
  TranslatorOptions translator_options;
  translator_options.search.beam = 3;
  const Translator translator(*system.model, system.config, system.text, translator_options);
  const std::vector<std::string> lines{"e e e d c b a"};
  const TranslatedText best = translator.translate(lines).front().best.front();
  CHECK(archive.sentence(3).target_text == best.text);
  CHECK(archive.sentence(3).score == Approx(best.hypothesis.score));
}

TEST_CASE("layers, heads and kinds that are chosen are the same as among all") {
  const TemporaryFolder folder;
  const TranslationSystem system = small_system(small_transformer());
  dump(system, some_lines(), folder.path() / "all.h5");
  AttentionDumpOptions options;
  options.selection = {{AttentionKind::cross}, {1}, {1}};
  dump(system, some_lines(), folder.path() / "one.h5", options);
  const AttentionArchive all = AttentionArchive::open(folder.path() / "all.h5");
  const AttentionArchive one = AttentionArchive::open(folder.path() / "one.h5");
  REQUIRE(one.kinds() == std::vector{AttentionKind::cross});
  CHECK(one.info(AttentionKind::cross).layers == std::vector<std::int32_t>{1});
  const auto block = all.block(AttentionKind::cross, 3);
  const auto expected = block.map(1, 1);
  CHECK(one.block(AttentionKind::cross, 3).weights == std::vector<float>(expected.begin(), expected.end()));
  CHECK(one.entropy(AttentionKind::cross, 3).front() ==
        Approx(mean_entropy(expected, block.queries, block.keys)).margin(1e-6));
}

TEST_CASE("half precision is near single precision and validates") {
  const TemporaryFolder folder;
  const TranslationSystem system = small_system(small_transformer());
  dump(system, some_lines(), folder.path() / "single.h5");
  AttentionDumpOptions options;
  options.half = true;
  dump(system, some_lines(), folder.path() / "half.h5", options);
  CHECK(findings_of(folder.path() / "half.h5") == "");
  const AttentionArchive half = AttentionArchive::open(folder.path() / "half.h5");
  CHECK(half.info(AttentionKind::cross).precision == "f16");
  const auto exact = AttentionArchive::open(folder.path() / "single.h5").block(AttentionKind::cross, 3);
  const auto rounded = half.block(AttentionKind::cross, 3);
  CHECK(largest_difference(exact.weights, rounded.weights) <= 0.000245F);  // 2^-12
  CHECK(exact.weights != rounded.weights);
}

TEST_CASE("what a dump holds does not depend on how lines are batched") {
  const TemporaryFolder folder;
  const TranslationSystem system = small_system(small_transformer());
  std::vector<AttentionDump::Line> lines;
  for (int i = 0; i < 200; ++i) {  // more than a window of lines
    for (const AttentionDump::Line& line : some_lines()) lines.push_back(line);
  }
  AttentionDumpOptions options;
  options.batch_tokens = 1;
  options.selection.kinds = {AttentionKind::cross};
  dump(system, some_lines(), folder.path() / "few.h5", options);
  options.batch_tokens = 8192;
  dump(system, lines, folder.path() / "many.h5", options);
  const AttentionArchive few = AttentionArchive::open(folder.path() / "few.h5");
  const AttentionArchive many = AttentionArchive::open(folder.path() / "many.h5");
  REQUIRE(many.sentences() == lines.size());
  CHECK(many.sentence(1199).line == 1200);
  for (std::size_t i = 0; i < lines.size(); i += 7) {
    CHECK(largest_difference(many.block(AttentionKind::cross, i).weights,
                             few.block(AttentionKind::cross, i % 6).weights) < 1e-5F);
  }
}

TEST_CASE("lines that are cropped or have no partner are marked and counted") {
  const TemporaryFolder folder;
  ModelConfig config = small_transformer();
  config.positions = PositionKind::learned;
  config.max_length = 4;
  AttentionDumpOptions options;
  options.forced = true;
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& warning) { warnings.push_back(warning); };
  const auto path = folder.path() / "a.h5";
  CHECK(dump(small_system(config), {{"a b c d e", "a"}, {"a", ""}, {"", ""}, {"a", "b b b b b"}}, path,
             options) == 3);
  CHECK(findings_of(path).empty());
  const AttentionArchive archive = AttentionArchive::open(path);
  CHECK(archive.sentence(0).status == LineStatus::cropped);
  CHECK(archive.sentence(0).source_length == 4);
  CHECK(archive.sentence(1).status == LineStatus::skipped);
  CHECK(archive.sentence(2).status == LineStatus::empty);
  CHECK(archive.sentence(3).target_length == 4);
  REQUIRE(warnings.size() == 3);
  CHECK(contains(warnings[0], "source:1: this source line of 5 tokens"));
  CHECK(contains(warnings[1], "the target line is blank"));
}

TEST_CASE("NUL in a text is stored as another character of one byte") {
  const TemporaryFolder folder;
  const std::string line("a \0 b", 5);
  CHECK(dump(small_system(small_transformer()), {{line}}, folder.path() / "a.h5") == 1);
  CHECK(AttentionArchive::open(folder.path() / "a.h5").sentence(0).source_text == "a \x1a b");
  CHECK(findings_of(folder.path() / "a.h5").empty());
}

TEST_CASE("what a model does not have is an error that names what it has") {
  const TranslationSystem transformer = small_system(small_transformer());
  const auto error = [&](const TranslationSystem& system, const AttentionSelection& selection) {
    const auto found = error_of([&] { select_attention(*system.model, selection); });
    REQUIRE(found);
    CHECK(found->code() == ExitCode::usage);
    return std::string(found->what());
  };
  CHECK(contains(error(transformer, {{AttentionKind::rnn_cross}}), "it has "));
  CHECK(
      contains(error(transformer, {{}, {2}}), "encoder_self attention has no layer 2; it has layers 0 to 1"));
  CHECK(contains(error(transformer, {{}, {}, {-1}}), "no head -1; it has heads 0 to 1"));
  ModelConfig plain = small_recurrent();
  plain.type = ModelConfig::Type::seq2seq;
  CHECK(contains(error(small_system(plain), {}), "has no attention"));
}
