// Scalars for TensorBoard: checksums, records, and going on after an interruption.
#include "attn/experiment/event_file.h"
#include "attn/io/atomic_file.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace {

using namespace attn;
using namespace attn::test;

EpochMetrics metrics(double update) {
  return {{"epoch", update / 10}, {"update", update}, {"loss", 1 / update}, {"valid_bleu", update}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("CRC-32C has its published values", "[tensorboard]") {
  CHECK(crc32c("123456789") == 0xE3069283U);              // the check value of the catalogue of CRCs
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);    // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43U);  // RFC 3720, B.4
  CHECK(masked_crc32c("") == 0xA282EAD8U);
}

TEST_CASE("an event has the bytes that protobuf gives it", "[tensorboard]") {
  const ScalarEvent event{.step = 300, .wall_time = 1.0, .values = {{"loss", 0.5F}}};
  const std::string expected("\x09\0\0\0\0\0\0\xf0\x3f\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f",
                             27);
  CHECK(encode_event(event) == expected);
  const std::string record = tf_record(expected);
  REQUIRE(record.size() == 27 + 16);
  CHECK(record.substr(0, 8) == std::string("\x1b\0\0\0\0\0\0\0", 8));
  CHECK(record.substr(12, 27) == expected);
}

TEST_CASE("metrics have the tags of their part of the data", "[tensorboard]") {
  CHECK(scalar_tag("loss") == "loss/train");
  CHECK(scalar_tag("book_loss") == "book_loss/train");
  CHECK(scalar_tag("valid_loss") == "loss/valid");
  CHECK(scalar_tag("valid_bleu") == "bleu/valid");
  CHECK(scalar_tag("learning_rate") == "learning_rate");
  CHECK_FALSE(scalar_tag("update"));
}

TEST_CASE("a run that is resumed writes no step twice", "[tensorboard]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "tensorboard" / "events.out.tfevents.attn";
  {
    EventFile events(folder.path() / "tensorboard", 0);
    CHECK(events.empty());
    for (const double update : {10, 20, 30}) events.add(metrics(update));
    CHECK_FALSE(events.empty());
  }
  const std::string whole = read_file(file);
  CHECK(count(whole, "loss/train") == 3);
  CHECK(count(whole, "brain.Event:2") == 1);
  // Killed while it wrote: half of a record.
  const std::size_t three = whole.size();
  write_file_atomically(file, whole + whole.substr(three - 40, 20));
  EventFile resumed(folder.path() / "tensorboard", 20);
  CHECK_FALSE(resumed.empty());
  CHECK(count(read_file(file), "loss/train") == 2);
  resumed.add(metrics(30));
  const std::string again = read_file(file);
  CHECK(again.size() == three);
  CHECK(count(again, "loss/train") == 3);
}

TEST_CASE("a file that is no event file is begun anew", "[tensorboard]") {
  const TemporaryFolder folder;
  folder.write("events.out.tfevents.attn", "something else that is long enough for a record");
  const EventFile events(folder.path(), 100);
  CHECK(events.empty());
  CHECK(count(read_file(folder.path() / "events.out.tfevents.attn"), "brain.Event:2") == 1);
}

}  // namespace
