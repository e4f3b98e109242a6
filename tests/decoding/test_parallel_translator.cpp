#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>

#include "attn/decoding/parallel_translator.h"
#include "decoding/models.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace {

using namespace attn;
using namespace attn::test;

TextProcessing letters() {
  TextProcessing text;
  const std::vector<std::string> tokens = {"a", "b", "c", "d", "e"};
  text.source_vocabulary = text.target_vocabulary = Vocabulary::from_tokens(tokens);
  return text;
}

// Lines of all lengths, some of them blank.
std::vector<std::string> some_lines(std::size_t count) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) {
    std::string line;
    for (std::size_t k = 0; k < i * 7 % 11; ++k) line += {static_cast<char>('a' + (i + k * k) % 5), ' '};
    lines.push_back(line);
  }
  return lines;
}

// Translators with models of their own.
class Translators {
 public:
  explicit Translators(TranslatorOptions options, std::size_t memory_limit = 0)
      : options_(std::move(options)), memory_limit_(memory_limit) {}

  std::shared_ptr<const Translator> operator()(std::size_t /*worker*/) {
    struct Held {
      TextProcessing text = letters();
      std::unique_ptr<TranslationModel> model;
      std::optional<Translator> translator;
    };
    DeviceOptions device;
    device.memory_limit = memory_limit_;
    auto held = std::make_shared<Held>();
    held->model = make_small_model(config_, Device::open("reference", device));
    held->translator.emplace(*held->model, config_, held->text, options_);
    return {held, &*held->translator};
  }

 private:
  ModelConfig config_ = small_configs()[2];
  TranslatorOptions options_;
  std::size_t memory_limit_;
};

std::vector<std::string> texts_of(const std::vector<Translation>& translations) {
  std::vector<std::string> texts;
  for (const Translation& translation : translations) texts.push_back(translation.text());
  return texts;
}

}  // namespace

TEST_CASE("translations and scores are the same for every number of workers") {
  const auto lines = some_lines(90);
  std::vector<std::string> targets(lines.rbegin(), lines.rend());
  TranslatorOptions options;
  options.search.beam = 2;
  Translators make(options);
  const auto alone = make(0);
  const auto expected = texts_of(alone->translate(lines, 5));
  const auto expected_scores = alone->score(lines, targets);
  for (const std::size_t workers : {1, 2, 5}) {
    ParallelTranslator parallel(workers, std::ref(make));
    CHECK(parallel.workers_made() == 1);
    const auto translations = parallel.translate(lines, 5);
    CHECK(parallel.workers_made() == workers);
    CHECK(texts_of(translations) == expected);
    for (std::size_t i = 0; i < lines.size(); ++i) CHECK(translations[i].line == 5 + i);
    const auto scores = parallel.score(lines, targets);
    for (std::size_t i = 0; i < lines.size(); ++i)
      CHECK(std::abs(scores[i].log_probability - expected_scores[i].log_probability) < 1e-9);
  }
}

TEST_CASE("a few lines are translated by the calling thread alone") {
  std::set<std::thread::id> threads;
  TranslatorOptions options;
  options.after_batch = [&](std::size_t) { threads.insert(std::this_thread::get_id()); };
  Translators make(options);
  ParallelTranslator parallel(4, std::ref(make));
  CHECK(parallel.translate(std::vector<std::string>{"a b", "", "c"}).size() == 3);
  CHECK(parallel.translate({}).empty());
  CHECK(parallel.workers_made() == 1);
  CHECK(threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("what is thrown at work reaches the caller, and the translators can be used again") {
  bool stop = true;
  TranslatorOptions options;
  options.after_batch = [&](std::size_t) {
    if (stop) fail(ExitCode::interrupted, "enough");
  };
  Translators make(options);
  ParallelTranslator parallel(3, std::ref(make));
  const auto lines = some_lines(60);
  const auto error = error_of([&] { parallel.translate(lines); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::interrupted);
  stop = false;
  CHECK(texts_of(parallel.translate(lines)) == texts_of(make(0)->translate(lines)));
}

TEST_CASE("a worker that does not fit into memory is left out") {
  Translators make({});
  ParallelTranslator parallel(3, [&](std::size_t worker) {
    if (worker > 0) throw OutOfMemory("no room for another model");
    return make(worker);
  });
  const auto lines = some_lines(60);
  CHECK(texts_of(parallel.translate(lines)) == texts_of(make(0)->translate(lines)));
  CHECK(parallel.workers() == 1);
}

TEST_CASE("a batch that does not fit into memory is halved, and a line that does not is left blank") {
  const std::vector<std::string> short_lines(40, "a b c");
  std::vector<std::string> lines = short_lines;
  std::string long_line;
  for (int i = 0; i < 400; ++i) long_line += "a ";
  lines.insert(lines.begin() + 7, long_line);
  TranslatorOptions options;
  options.search.max_length = 6;
  const auto expected = Translators(options)(0)->translate(lines);
  std::set<bool> found;
  for (std::size_t kibibytes = 50; kibibytes < 60000; kibibytes += kibibytes / 4) {
    std::shared_ptr<const Translator> translator;
    if (error_of([&] { translator = Translators(options, kibibytes * 1024)(0); })) continue;
    const auto translations = translator->translate(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (translations[i].out_of_memory) {
        CHECK(translations[i].text().empty());
      } else {
        CHECK(translations[i].text() == expected[i].text());
      }
    }
    if (translations[0].out_of_memory) continue;
    found.insert(translations[7].out_of_memory);
  }
  CHECK(found == std::set{false, true});  // some limit holds the short lines only, some all
}
