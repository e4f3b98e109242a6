#include <cmath>
#include <numbers>

#include "attn/inspection/positions.h"
#include "attn/io/hdf5.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/text_files.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("a rotation moves sinusoidal positions by up to 64 with an error below 1e-6 in f32") {
  for (const std::int64_t width : {std::int64_t{32}, std::int64_t{512}}) {
    for (const std::int64_t shift : {1, 2, 7, 33, 64}) {
      const double error = rotation_error(shift, 100, width);
      CHECK(error <= 1e-6);
      CHECK(error > 0.0);
      CHECK(rotation_error(shift, 100, width, DType::f64) <= 1e-12);
    }
  }
}

TEST_CASE("columns of a pair share a wavelength, from 2 pi towards 2 pi base") {
  const std::vector<double> wavelengths = position_wavelengths(5, 100.0);
  REQUIRE(wavelengths.size() == 5);
  CHECK(wavelengths[0] == Approx(2 * std::numbers::pi));
  CHECK(wavelengths[1] == wavelengths[0]);
  CHECK(wavelengths[2] == Approx(2 * std::numbers::pi * std::pow(100.0, 0.4)));
  CHECK(wavelengths[4] == Approx(2 * std::numbers::pi * std::pow(100.0, 0.8)));
}

TEST_CASE("cosines of positions are 1 with themselves and fall with the distance") {
  const PositionTable table = sinusoidal_table(10, 64);
  const std::vector<float> cosines = position_similarity(table.encoding, 10, 64);
  CHECK(cosines[0] == Approx(1.0));
  CHECK(cosines[1] == Approx(cosines[10]));
  CHECK(cosines[1] > cosines[2]);
  CHECK(position_similarity({0, 0, 1, 0}, 2, 2) == std::vector<float>{0, 0, 0, 1});
}

TEST_CASE("an odd width has one sine more than cosines, and a rotation for each pair") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.h5";
  PositionTable table = sinusoidal_table(60, 33);
  table.shifts = 4;
  table.dtype = DType::f64;
  CHECK(write_positions(path, table, "command") <= 1e-12);
  const hdf5::File file = hdf5::open_checked(path, "attn.positions", 1);
  CHECK(file.dataset("/encoding").shape() == hdf5::Shape{60, 33});
  CHECK(file.dataset("/encoding").type() == "f64");
  CHECK(file.dataset("/rotation").shape() == hdf5::Shape{4, 16, 2, 2});
  CHECK(file.read<double>("/encoding")[60 * 33 - 1] ==
        Approx(std::sin(59.0 / std::pow(10000.0, 32.0 / 33.0))));
  CHECK_FALSE(file.exists("/similarity"));
}

TEST_CASE("positions that cannot be are refused") {
  for (const auto& [count, width] : {std::pair{0, 4}, std::pair{4, 0}}) {
    const auto error = error_of([&, c = count, w = width] { sinusoidal_table(c, w); });
    REQUIRE(error);
    CHECK(error->code() == ExitCode::usage);
  }
}
