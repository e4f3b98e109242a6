#include <algorithm>

#include "attn/core/error.h"
#include "attn/decoding/translator.h"
#include "decoding/models.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

// "a b c d e" are ids 4 to 8 on both sides.
TextProcessing letters() {
  TextProcessing text;
  const std::vector<std::string> tokens = {"a", "b", "c", "d", "e"};
  text.source_vocabulary = text.target_vocabulary = Vocabulary::from_tokens(tokens);
  return text;
}

const std::vector<std::string> lines = {"a b c", "", "d", "e d c b a", "b b"};
const std::vector<std::string> prefixes = {"e e", "a", "  ", "zzz b", ""};

}  // namespace

TEST_CASE("every translation begins with the prefix of its line, in batches and alone") {
  const TextProcessing text = letters();
  for (const ModelConfig& config : small_configs()) {
    const auto model = make_small_model(config, Device::open("reference"));
    for (const std::int64_t beam : {1, 3}) {
      TranslatorOptions options;
      options.search.beam = options.search.n_best = beam;
      const auto free = Translator(*model, config, text, options).translate(lines);
      const auto together = Translator(*model, config, text, options).translate(lines, 1, prefixes);
      options.batch_size = 1;
      const auto alone = Translator(*model, config, text, options).translate(lines, 1, prefixes);
      REQUIRE(together.size() == lines.size());
      CHECK(together[1].blank);
      CHECK(together[1].text().empty());
      for (const std::size_t unforced : {2, 4}) CHECK(together[unforced].text() == free[unforced].text());
      for (const TranslatedText& best : together[0].best) CHECK(best.text.substr(0, 3) == "e e");
      CHECK(together[3].prefix.ids == std::vector<std::int32_t>{Vocabulary::unk, 5});
      for (const TranslatedText& best : together[3].best) {
        REQUIRE(best.hypothesis.tokens.size() >= 2);
        CHECK(std::equal(best.hypothesis.tokens.begin(), best.hypothesis.tokens.begin() + 2,
                         together[3].prefix.ids.begin()));
      }
      for (std::size_t i = 0; i < lines.size(); ++i) CHECK(alone[i].text() == together[i].text());
    }
  }
}

TEST_CASE("a prefix that is too long is an error that names its line and both lengths") {
  const TextProcessing text = letters();
  const ModelConfig config = small_configs()[2];
  const auto model = make_small_model(config, Device::open("reference"));
  TranslatorOptions options;
  options.prefix_name = "begun.txt";
  options.search.max_length = 2;
  const Translator translator(*model, config, text, options);
  std::vector<std::string> longer = prefixes;
  longer[4] = "a b c";
  const auto error = error_of([&] { translator.translate(lines, 11, longer); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "begun.txt:15:"));
  CHECK(contains(error->what(), "3 tokens"));
  CHECK(contains(error->what(), "may have 2"));
}

TEST_CASE("another number of prefixes than of lines is an error with both") {
  const TextProcessing text = letters();
  const ModelConfig config = small_configs()[2];
  const auto model = make_small_model(config, Device::open("reference"));
  const std::vector<std::string> two = {"a", "b"};
  const auto error = error_of([&] { Translator(*model, config, text).translate(lines, 1, two); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
  CHECK(contains(error->what(), "2 prefixes for 5 lines"));
}
