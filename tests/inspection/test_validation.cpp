#include <fstream>
#include <functional>

#include "attn/inspection/archive_validation.h"
#include "attn/inspection/attention_archive.h"
#include "attn/inspection/positions.h"
#include "attn/io/atomic_file.h"
#include "inspection/small_system.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace {

using namespace attn;
using namespace attn::test;

// An archive written by hand, one part of which `change` spoils.
class Archive {
 public:
  AttentionArchiveLayout layout{
      {{AttentionKind::cross, {0}, {0, 1}}, {AttentionKind::decoder_self, {0}, {0}}}};
  ArchivedSentence sentence{
      .line = 1,
      .source_text = "a b",
      .target_text = "c",
      .reference = "",
      .score = -1.0,
      .source_ids = {4, 5, 3},
      .target_ids = {6, 3},
      .source_spans = {{0, 1}, {2, 3}, no_span},
      .target_spans = {{0, 1}, no_span},
      .blocks = {{0.5F, 0.25F, 0.25F, 0, 0, 1, 1, 0, 0, 0.5F, 0.5F, 0}, {1, 0, 0.5F, 0.5F}}};

  std::filesystem::path write(const TemporaryFolder& folder,
                              const std::function<void(hdf5::File&)>& change = {}) const {
    const auto path = folder.path() / "archive.h5";
    const TranslationSystem system = small_system(small_transformer());
    hdf5::write_atomically(path, [&](hdf5::File& file) {
      hdf5::Header header{"attn.attention", 1};
      hdf5::write_header(file, header);
      AttentionArchiveWriter writer(file, system.text, layout);
      writer.append(sentence);
      writer.finish();
      if (change) change(file);
    });
    return path;
  }
};

std::vector<std::string> findings_of(const std::filesystem::path& path) {
  std::vector<std::string> texts;
  for (const Finding& finding : validate_file(path).findings)
    texts.push_back(finding.path + ": " + finding.what);
  return texts;
}

// All findings after a change, one a line.
std::string findings(const std::function<void(Archive&)>& spoil,
                     const std::function<void(hdf5::File&)>& change = {}) {
  const TemporaryFolder folder;
  Archive archive;
  if (spoil) spoil(archive);
  const std::vector<std::string> found = findings_of(archive.write(folder, change));
  std::string lines;
  for (const std::string& text : found) lines += text + "\n";
  return lines;
}

}  // namespace

TEST_CASE("an archive as specified has no findings") {
  const TemporaryFolder folder;
  const auto path = Archive().write(folder);
  CHECK(findings_of(path).empty());
  CHECK(validate_file(path).summary == "1 sentences, attention cross, decoder_self");
}

TEST_CASE("each weight that cannot be is found with its place") {
  CHECK(
      findings([](Archive& a) { a.sentence.blocks[0][1] = 0.5F; }) ==
      "/attention/cross/weights: sentence 0, layer 0, head 0, query 0: the row sums to 1.25; expected 1, or "
      "only zeros\n");
  CHECK(contains(findings([](Archive& a) {
                   a.sentence.blocks[1] = {0.5F, 0.5F, 0, 1};
                 }),
                 "query 0, key 1: is 0.5; expected 0, since the key is masked"));
  const std::string negative = findings(
      [](Archive& a) {
        a.sentence.blocks[0][0] = 1.5F;
        a.sentence.blocks[0][1] = 0.25F;
        a.sentence.blocks[0][2] = -0.75F;
      },
      [](hdf5::File&) {});
  CHECK(contains(negative, "expected 0 to 1"));
}

TEST_CASE("offsets, lengths and tokens must fit each other") {
  CHECK(contains(findings([](Archive& a) { a.sentence.source_ids[1] = 9; }),
                 "/tokens/source/id: is 9 in sentence 0; the vocabulary has 9 tokens"));
  CHECK(contains(findings([](Archive& a) {
                   a.sentence.source_spans[1] = {2, 9};
                 }),
                 "/tokens/source/span: is 2 to 9 in sentence 0, whose text has 3 bytes"));
  CHECK(contains(findings({},
                          [](hdf5::File& file) {
                            file.dataset("/attention/cross/query_length")
                                .write(std::span<const std::int32_t>(std::vector<std::int32_t>{3}));
                          }),
                 "/attention/cross"));
  CHECK(contains(findings({},
                          [](hdf5::File& file) {
                            file.dataset("/tokens/decoder_input/id")
                                .write(std::span<const std::int32_t>(std::vector<std::int32_t>{6, 6}));
                          }),
                 "/tokens/decoder_input/id: of sentence 0 is not <bos>"));
}

TEST_CASE("attributes and texts are compared with what they must be") {
  CHECK(contains(
      findings(
          {}, [](hdf5::File& file) { file.group("/attention/cross").set_attribute("query_row", "follows"); }),
      "/attention/cross@query_row: is 'follows'; expected consumes|predicts"));
  CHECK(contains(findings({},
                          [](hdf5::File& file) {
                            file.dataset("/vocabulary/target").set_attribute("sha256", std::string(64, '0'));
                          }),
                 "/vocabulary/target@sha256"));
  CHECK(contains(
      findings({},
               [](hdf5::File& file) {
                 file.dataset("/sentences/source_text").set_attribute("sha256", std::string(64, '0'));
               }),
      "/sentences/source_text@sha256"));
  CHECK(contains(findings({}, [](hdf5::File& file) { file.create_group("/attention/sideways"); }),
                 "/attention/sideways: is no kind of attention"));
  CHECK(contains(findings({},
                          [](hdf5::File& file) {
                            file.dataset("/attention/cross/entropy")
                                .write(std::span<const float>(std::vector<float>{3.0F, 0.34657F}));
                          }),
                 "/attention/cross/entropy: sentence 0, layer 0, head 0: is 3"));
}

TEST_CASE("of many findings in one place the first ten are told and the rest counted") {
  const TemporaryFolder folder;
  Archive archive;
  archive.sentence.source_ids.assign(20, 99);
  archive.sentence.source_spans.assign(20, no_span);
  archive.sentence.blocks[0].assign(2 * 2 * 20, 0.0F);
  const ValidationReport report = validate_file(archive.write(folder));
  CHECK(report.findings.size() == 10);
  CHECK(report.further == 10);
}

TEST_CASE("another format, a newer version and an incomplete file are refused") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::function<void(hdf5::File&)>& change, const std::string& part) {
    const auto path = Archive().write(folder, change);
    for (const auto& read : {std::function<void()>([&] { validate_file(path); }),
                             std::function<void()>([&] { AttentionArchive::open(path); })}) {
      const auto error = error_of(read);
      REQUIRE(error);
      CHECK(error->code() == ExitCode::input_data);
      CHECK(contains(error->what(), part));
    }
  };
  refused([](hdf5::File& file) { file.set_attribute("format", "attn.checkpoint"); }, "attn.checkpoint");
  refused([](hdf5::File& file) { file.set_attribute("format_version", std::int32_t{2}); }, "version 2");
  const auto path = folder.path() / "growing.h5";
  hdf5::File file = hdf5::File::create(path);
  hdf5::write_header(file, {"attn.attention", 1});
  file.close();
  const auto error = error_of([&] { AttentionArchive::open(path); });
  REQUIRE(error);
  CHECK(contains(error->what(), "not complete"));
}

TEST_CASE("a truncated archive is an error that names the file") {
  const TemporaryFolder folder;
  const auto path = Archive().write(folder);
  const std::string bytes = read_file(path);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    const auto cut = folder.write("cut.h5", bytes.substr(0, size));
    const auto error = error_of([&] { validate_file(cut); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::file);
    CHECK(contains(error->what(), "cut.h5"));
  }
}

TEST_CASE("a flipped bit in the weights is an error") {
  const TemporaryFolder folder;
  const TranslationSystem system = small_system(small_transformer());
  const auto path = folder.path() / "a.h5";
  dump(system, some_lines(), path);
  const AttentionArchive archive = AttentionArchive::open(path);
  const auto expected = archive.block(AttentionKind::cross, 3).weights;
  const std::string bytes = read_file(path);
  std::size_t noticed = 0, silent = 0;
  for (std::size_t position = 1; position < bytes.size(); position += bytes.size() / 80) {
    std::string flipped = bytes;
    flipped[position] = static_cast<char>(flipped[position] ^ 0x10);
    const auto other = folder.write("flipped.h5", flipped);
    const auto error = error_of([&] {
      if (!validate_file(other).findings.empty()) fail(ExitCode::input_data, "findings");
    });
    if (error) {
      ++noticed;
    } else if (AttentionArchive::open(other).block(AttentionKind::cross, 3).weights != expected) {
      ++silent;  // unused bytes may change, numbers may not
    }
  }
  CHECK(noticed > 10);
  CHECK(silent == 0);
}

TEST_CASE("positions are checked by their formula") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "positions.h5";
  PositionTable table = sinusoidal_table(20, 7);
  table.shifts = 3;
  table.similarity = true;
  write_positions(path, table, "attn-dump positions");
  CHECK(findings_of(path).empty());
  table.encoding[30] += 0.01;
  table.similarity = false;
  write_positions(path, table, "attn-dump positions");
  const auto found = findings_of(path);
  REQUIRE(found.size() == 1);
  CHECK(contains(found.front(), "/encoding: is "));
}
