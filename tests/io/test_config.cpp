#include <clocale>

#include "attn/io/config_schema.h"
#include "attn/io/did_you_mean.h"
#include "attn/io/yaml.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using attn::ExitCode;
using attn::test::contains;
using attn::test::error_of;
using attn::test::TemporaryFolder;
namespace config = attn::config;
namespace yaml = attn::yaml;

namespace {

enum class Optimizer { sgd, adam };

struct Settings {
  double learning_rate = 0.005;
  std::int64_t batch_size = 64;
  std::uint64_t seed = 1;
  bool shuffle = true;
  Optimizer optimizer = Optimizer::adam;
  std::string name = "first run";
  std::filesystem::path data = "datasets/x.tsv";
  std::vector<double> betas = {0.9, 0.98};
  std::optional<double> clip = 1.0;
  int heads = 4;
};

/// A schema with its settings.
struct Fixture {
  Settings settings;
  config::Schema schema;

  Fixture() {
    schema.field("training.learning_rate", settings.learning_rate, config::Real{.above = 0}, "Step size");
    schema.field("training.batch_size", settings.batch_size, config::Integer{.minimum = 1, .maximum = 4096},
                 "Pairs");
    schema.field("training.seed", settings.seed, config::Integer{}, "Seed of every random choice");
    schema.field("data.path", settings.data, config::Path{}, "Corpus");
    schema.field("training.shuffle", settings.shuffle, config::Boolean{}, "Whether to shuffle");
    schema.field("training.optimizer", settings.optimizer,
                 config::Choice<Optimizer>{{{"sgd", Optimizer::sgd}, {"adam", Optimizer::adam}}},
                 "Update rule");
    schema.field("training.adam.betas", settings.betas, config::Real{.minimum = 0, .below = 1},
                 "Decay rates");
    schema.field("training.clip", settings.clip, config::Real{.above = 0}, "Largest gradient norm");
    schema.field("name", settings.name, config::Text{.may_be_empty = false}, "Name of the run");
    schema.field("model.heads", settings.heads, config::Integer{.minimum = 1}, "Attention heads");
  }

  std::vector<std::string> problems_of(const std::string& text) {
    schema.apply(yaml::parse(text, "configs/x.yaml"));
    return schema.problems();
  }
};

using Problems = std::vector<std::string>;

}  // namespace

TEST_CASE("settings come from defaults, then files, then --set, then flags", "[config]") {
  Fixture fixture;
  fixture.schema.apply(yaml::parse("training:\n  learning_rate: .5\n  batch_size: 8\n  seed: 3\n", "a.yaml"));
  fixture.schema.apply(yaml::parse("training: {batch_size: 16, seed: 4}\nname: second\n", "b.yaml"));
  fixture.schema.apply(config::parse_set("training.seed=5"));
  fixture.schema.apply(config::parse_set("training.adam.betas=[0.5, 0]"));
  fixture.schema.apply(config::parse_flag("--seed", "training.seed", "18446744073709551615"));
  fixture.schema.check();
  CHECK(fixture.settings.learning_rate == 0.5);
  CHECK(fixture.settings.batch_size == 16);
  CHECK(fixture.settings.seed == 18446744073709551615ULL);
  CHECK(fixture.settings.name == "second");
  CHECK(fixture.settings.betas == std::vector<double>{0.5, 0});
  CHECK(fixture.schema.origin("training.learning_rate") == "a.yaml:2");
  CHECK(fixture.schema.origin("training.batch_size") == "b.yaml:1");
  CHECK(fixture.schema.origin("training.seed") == "--seed");
  CHECK(fixture.schema.origin("training.adam.betas") == "--set");
  CHECK(fixture.schema.origin("data.path") == "default");
}

TEST_CASE("all errors of a configuration are reported at once, each with its place", "[config]") {
  Fixture fixture;
  const Problems problems = fixture.problems_of(
      "training:\n"
      "  learning_rte: 0.1\n"
      "  batch_size: 3.0\n"
      "  shuffle: yes\n"
      "  optimizer: adm\n"
      "  seed: -3\n"
      "  clip: abc\n"
      "  clip: 2\n"
      "  adam:\n"
      "    betas: [0.9, 1]\n"
      "trainng:\n"
      "  seed: 1\n"
      "heads: 3\n"
      "nonsense: 1\n"
      "model: 3\n"
      "name:\n");
  CHECK(
      problems ==
      Problems{
          "configs/x.yaml:8:3: duplicate key 'training.clip' (first given in line 7)",
          "configs/x.yaml:2:3: unknown key 'training.learning_rte' (did you mean 'training.learning_rate'?)",
          "configs/x.yaml:3:15: training.batch_size: expected an integer, found '3.0'",
          "configs/x.yaml:4:12: training.shuffle: expected true or false, found 'yes'",
          "configs/x.yaml:5:14: training.optimizer: expected one of sgd, adam, found 'adm' (did you mean "
          "'adam'?)",
          "configs/x.yaml:6:9: training.seed: must be at least 0, found -3",
          "configs/x.yaml:7:9: training.clip: expected a number, found 'abc'",
          "configs/x.yaml:10:12: training.adam.betas: must be at least 0 and below 1, found 1",
          "configs/x.yaml:11:1: unknown key 'trainng' (did you mean 'training'?)",
          "configs/x.yaml:13:1: unknown key 'heads' (did you mean 'model.heads'?)",
          "configs/x.yaml:14:1: unknown key 'nonsense'",
          "configs/x.yaml:15:8: model: expected a section of settings, found '3'",
          "configs/x.yaml:16:1: name: expected a text, found nothing",
      });
  const auto error = error_of([&] { fixture.schema.check(); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), problems.front() + "\n" + problems[1]));
  CHECK(fixture.settings.learning_rate == 0.005);
}

TEST_CASE("numbers out of range are named with the range", "[config]") {
  Fixture fixture;
  CHECK(fixture.problems_of("training: {learning_rate: 0, batch_size: 5000, seed: 18446744073709551616}\n"
                            "model: {heads: 3000000000}\n") ==
        Problems{"configs/x.yaml:1:27: training.learning_rate: must be above 0, found 0",
                 "configs/x.yaml:1:42: training.batch_size: must be at least 1 and at most 4096, found 5000",
                 "configs/x.yaml:1:54: training.seed: '18446744073709551616' is out of range",
                 "configs/x.yaml:2:16: model.heads: '3000000000' is out of range"});
}

TEST_CASE("a number is read as the C locale writes it", "[config]") {
  for (const char* text : {"5", ".5", "1e-3", "5.", "+0.25", "1E+2"}) {
    Fixture fixture;
    INFO(text);
    CHECK(fixture.problems_of(std::string("training: {learning_rate: ") + text + "}").empty());
  }
  for (const char* text :
       {"0,5", "1_000.0", "0x10", "nan", "inf", "'5'", "--1", "+-1", "1e999", "1 2", "true"}) {
    Fixture fixture;
    INFO(text);
    CHECK(fixture.problems_of(std::string("training:\n  learning_rate: ") + text + "\n").size() == 1);
  }
}

TEST_CASE("numbers do not depend on the locale", "[config]") {
  const char* const comma = std::setlocale(LC_ALL, "de_DE.UTF-8");
  if (comma == nullptr) WARN("the locale de_DE.UTF-8 is not installed; testing in the current one");
  Fixture fixture;
  const Problems problems = fixture.problems_of("training: {learning_rate: 0.25}");
  const std::string dump = fixture.schema.dump();
  std::setlocale(LC_ALL, "C");
  CHECK(problems.empty());
  CHECK(fixture.settings.learning_rate == 0.25);
  CHECK(contains(dump, "learning_rate: 0.25 "));
}

TEST_CASE("the option --set reports its own errors", "[config]") {
  Fixture fixture;
  fixture.schema.apply(config::parse_set("training.learning_rte=1"));
  fixture.schema.apply(config::parse_set("training.batch_size=many"));
  fixture.schema.apply(config::parse_set("training=3"));
  fixture.schema.apply(config::parse_flag("--heads", "model.heads", "0"));
  CHECK(fixture.schema.problems() ==
        Problems{"--set training.learning_rte=1: unknown key 'training.learning_rte' (did you mean "
                 "'training.learning_rate'?)",
                 "--set training.batch_size=many: training.batch_size: expected an integer, found 'many'",
                 "--set training=3: 'training' is a section, not a setting",
                 "--heads 0: model.heads: must be at least 1, found 0"});
  const auto error = error_of([] { (void)config::parse_set("training.seed"); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::config);
  CHECK(contains(error->what(), "PATH=VALUE"));
  const auto broken = error_of([] { (void)config::parse_set("training.adam.betas=[1"); });
  REQUIRE(broken);
  CHECK(contains(broken->what(), "--set training.adam.betas=[1: "));
}

TEST_CASE("a dumped configuration loads again to the same settings", "[config]") {
  Fixture first;
  first.settings.name = "with: \"quotes\", # and\nlines\\ 猫";
  first.schema.apply(
      yaml::parse("training: {learning_rate: 1e-7, clip: null}\ndata.path: ' a b'\n", "odd\nname.yaml"));
  first.schema.apply(config::parse_set("training.optimizer=sgd"));
  first.schema.check();
  const std::string dump = first.schema.dump();
  INFO(dump);
  CHECK(contains(dump, "training:\n  learning_rate: 1e-07  # odd?name.yaml:1\n"));
  CHECK(contains(dump, "  optimizer: sgd  # --set\n"));
  CHECK(contains(dump, "  adam:\n    betas: [0.9, 0.98]  # default\n"));
  CHECK(contains(dump, "  clip: null  #"));
  CHECK(dump.find("training:") == dump.rfind("training:"));
  Fixture second;
  CHECK(second.problems_of(dump).empty());
  CHECK(second.settings.name == first.settings.name);
  CHECK(second.settings.data == " a b");
  CHECK(second.settings.learning_rate == 1e-7);
  CHECK(second.settings.optimizer == Optimizer::sgd);
  CHECK_FALSE(second.settings.clip);
}

TEST_CASE("every text survives quoting", "[config]") {
  for (const char* text :
       {"",           "null", "True", "yes", "~",  "1.5", "- a", "a: b", "a #b", " lead", "trail ", "'",
        "\"",         "*x",   "&x",   "!x",  "%x", "@x",  "`x",  "\x01", "\x7f", "a\tb",  "a\nb",   "é",
        "/a/b-c_d.e", "<<",   "\\n",  "{}",  "[",  "|",   ">",   "?",    "0x1F", ".inf"}) {
    const yaml::Node node = yaml::parse_value(yaml::quote(text), "test");
    INFO(text);
    CHECK(node.is_scalar());
    CHECK(node.text == text);
  }
}

TEST_CASE("a problem that the program finds is reported where the value was given", "[config]") {
  Fixture fixture;
  fixture.schema.apply(yaml::parse("model:\n  heads: 3\n", "x.yaml"));
  fixture.schema.problem("model.heads", "must divide model.width (32)");
  fixture.schema.problem("training.seed", "is odd");
  CHECK(fixture.schema.problems() ==
        Problems{"x.yaml:2:10: model.heads: must divide model.width (32)", "training.seed: is odd"});
}

TEST_CASE("a sweep is the grid of its lists, in order", "[config]") {
  const auto document = yaml::parse(
      "name: x\nsweep:\n  training.learning_rate: [0.001, 1e-2]\n  training.seed: [1, 2]\n", "s.yaml");
  const auto points = config::expand_sweep(document);
  Problems names;
  for (const auto& point : points) names.push_back(point.name);
  CHECK(names == Problems{"learning_rate=0.001,seed=1", "learning_rate=0.001,seed=2",
                          "learning_rate=1e-2,seed=1", "learning_rate=1e-2,seed=2"});
  Fixture fixture;
  fixture.schema.apply(document);
  for (const auto& override : points[2].overrides) fixture.schema.apply(override);
  fixture.schema.check();
  CHECK(fixture.settings.learning_rate == 0.01);
  CHECK(fixture.settings.seed == 1);
  CHECK(fixture.schema.origin("training.seed") == "s.yaml:4 (sweep)");
}

TEST_CASE("names of a sweep are unique and fit for folders", "[config]") {
  const auto points = config::expand_sweep(
      yaml::parse("sweep: {a.path: [x/y, x y, ../z], b.path: [[1, 2], null]}", "s.yaml"));
  Problems names;
  for (const auto& point : points) names.push_back(point.name);
  CHECK(names == Problems{"a.path=x_y,b.path=1-2", "a.path=x_y,b.path=null", "a.path=x_y,b.path=1-2_2",
                          "a.path=x_y,b.path=null_2", "a.path=.._z,b.path=1-2", "a.path=.._z,b.path=null"});
}

TEST_CASE("a name of a sweep that is too long for a folder is cut and stays unique", "[config]") {
  const std::string path(300, 'p');
  const auto points = config::expand_sweep(
      yaml::parse("sweep: {a.path: [" + path + "1, " + path + "2, " + path + "2]}", "s.yaml"));
  REQUIRE(points.size() == 3);
  for (const auto& point : points) {
    CHECK(point.name.size() < 210);
    CHECK(point.name.starts_with("path=ppp"));
  }
  CHECK(points[0].name != points[1].name);
  CHECK(points[2].name == points[1].name + "_2");
}

TEST_CASE("no sweep is one run, and a malformed one an error", "[config]") {
  const auto single = config::expand_sweep(yaml::parse("a: 1", "s.yaml"));
  REQUIRE(single.size() == 1);
  CHECK(single[0].name.empty());
  for (const char* text : {"sweep: 3", "sweep:\n", "sweep: {a: 3}", "sweep: {a: []}"}) {
    const auto error = error_of([&] { (void)config::expand_sweep(yaml::parse(text, "s.yaml")); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
    CHECK(contains(error->what(), "s.yaml:1:"));
  }
}

TEST_CASE("malformed YAML is an error with file, line and column", "[yaml]") {
  for (const char* text : {"a: [1, 2\nb: 3\n", "a: 1\n  b: 2\n", "a: *b\n", "\tb: 1\n", "a: {b: 1\n"}) {
    INFO(text);
    const auto error = error_of([&] { (void)yaml::parse(text, "bad.yaml"); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::config);
    CHECK(std::string(error->what()).rfind("bad.yaml:", 0) == 0);
  }
  const auto second = error_of([] { (void)yaml::parse("a: 1\n---\nb: 2\n", "two.yaml"); });
  REQUIRE(second);
  CHECK(contains(second->what(), "two.yaml:3:1: a second YAML document"));
}

TEST_CASE("a missing configuration file is a file error", "[yaml]") {
  const TemporaryFolder folder;
  for (const auto& path : {folder.path() / "absent.yaml", folder.path()}) {
    const auto error = error_of([&] { (void)yaml::load(path); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::file);
    CHECK(contains(error->what(), path.string()));
  }
  CHECK(yaml::load(folder.write("empty.yaml", "")).root.is_null());
  CHECK(yaml::load(folder.write("comment.yaml", "# nothing\n")).root.is_null());
}

TEST_CASE("anchors are expanded, and merge keys give defaults", "[yaml]") {
  const auto document = yaml::parse("base: &b {x: 1, y: 2}\nother: {<<: *b, y: 3}\nsame: *b\n", "a.yaml");
  document.require_valid();
  const yaml::Node* const other = document.root.find("other");
  REQUIRE(other != nullptr);
  CHECK(other->find("x")->text == "1");
  CHECK(other->find("y")->text == "3");
  CHECK(other->entries.size() == 2);
  CHECK(document.root.find("same")->find("y")->text == "2");
}

TEST_CASE("anchors that explode or contain themselves are refused", "[yaml]") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  CHECK(error_of([&] { (void)yaml::parse(bomb, "bomb.yaml"); }));
  CHECK(error_of([&] { (void)yaml::parse("a: &a [*a]", "self.yaml"); }));
}

TEST_CASE("edit distance counts a swap of neighbours once", "[config]") {
  CHECK(attn::edit_distance("", "abc") == 3);
  CHECK(attn::edit_distance("kitten", "sitting") == 3);
  CHECK(attn::edit_distance("seed", "sede") == 1);
  const Problems names = {"training.seed", "training.batch_size"};
  CHECK(attn::closest_name("training.sede", names) == "training.seed");
  CHECK(attn::closest_name("seed", names) == "training.seed");
  CHECK_FALSE(attn::closest_name("banana", names));
}
