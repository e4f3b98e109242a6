#include <algorithm>
#include <numeric>

#include "attn/core/error.h"
#include "attn/inspection/positions.h"
#include "attn/io/hdf5.h"

namespace attn {
namespace {

template<typename T>
std::vector<T> counted(std::int64_t count, T first) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

struct Axes {
  hdf5::Dataset position, dimension;
};

Axes write_axes(hdf5::File& file, const PositionTable& table) {
  Axes axes{file.write("/position", counted<std::int64_t>(table.count, 0)),
            file.write("/dimension", counted<std::int32_t>(table.width, 0))};
  axes.position.describe("position in the sentence, from 0", "1");
  axes.position.make_scale("position");
  axes.dimension.describe("column of the encoding, from 0", "1");
  axes.dimension.make_scale("dimension");
  return axes;
}

void write_encoding(hdf5::File& file, const PositionTable& table, const Axes& axes) {
  const hdf5::Shape shape{static_cast<std::uint64_t>(table.count), static_cast<std::uint64_t>(table.width)};
  const std::vector<float> rounded(table.encoding.begin(), table.encoding.end());
  hdf5::Dataset encoding = table.dtype == DType::f64
                               ? file.write("/encoding", table.encoding, shape, hdf5::Storage::compressed())
                               : file.write("/encoding", rounded, shape, hdf5::Storage::compressed());
  encoding.describe(table.type + " positional encoding", "1");
  encoding.attach_scale(0, axes.position);
  encoding.attach_scale(1, axes.dimension);
}

void write_similarity(hdf5::File& file, const PositionTable& table, const Axes& axes) {
  const auto count = static_cast<std::uint64_t>(table.count);
  hdf5::Dataset similarity =
      file.write("/similarity", position_similarity(table.encoding, table.count, table.width), {count, count},
                 hdf5::Storage::compressed());
  similarity.describe("cosine of the angle between the encodings of two positions", "1");
  // One axis alone: a variable with the same dimension twice is refused by several readers.
  similarity.attach_scale(0, axes.position);
  hdf5::Dataset other = file.write("/other_position", counted<std::int64_t>(table.count, 0));
  other.describe("position in the sentence, from 0", "1");
  other.make_scale("other_position");
  similarity.attach_scale(1, other);
}

double write_rotations(hdf5::File& file, const PositionTable& table) {
  std::vector<double> rotations, errors;
  for (std::int64_t shift = 1; shift <= table.shifts; ++shift) {
    const std::vector<double> rotation = position_rotation(shift, table.width, table.base);
    rotations.insert(rotations.end(), rotation.begin(), rotation.end());
    errors.push_back(rotation_error(shift, table.count, table.width, table.dtype, table.base));
  }
  hdf5::Dataset shift = file.write("/shift", counted<std::int64_t>(table.shifts, 1));
  shift.describe("number of positions to move by", "1");
  shift.make_scale("shift");
  const auto pairs = static_cast<std::uint64_t>(table.width / 2);
  hdf5::Dataset pair = file.write("/pair", counted<std::int32_t>(table.width / 2, 0));
  pair.describe("pair of columns 2j and 2j + 1, from 0", "1");
  pair.make_scale("pair");
  hdf5::Dataset row = file.write("/rotation_row", counted<std::int32_t>(2, 0));
  row.describe("column within the pair, after the move", "1");
  row.make_scale("rotation_row");
  hdf5::Dataset column = file.write("/rotation_column", counted<std::int32_t>(2, 0));
  column.describe("column within the pair, before the move", "1");
  column.make_scale("rotation_column");
  hdf5::Dataset rotation =
      file.write("/rotation", rotations, {static_cast<std::uint64_t>(table.shifts), pairs, 2, 2},
                 hdf5::Storage::compressed());
  rotation.describe("rotation of a pair of columns that moves a position by so many", "1");
  rotation.attach_scale(0, shift);
  rotation.attach_scale(1, pair);
  rotation.attach_scale(2, row);
  rotation.attach_scale(3, column);
  hdf5::Dataset error = file.write("/rotation_error", errors);
  error.describe("largest difference between moved and true encoding over all positions", "1");
  error.attach_scale(0, shift);
  return *std::max_element(errors.begin(), errors.end());
}

}  // namespace

double write_positions(const std::filesystem::path& path, const PositionTable& table,
                       const std::string& command_line) {
  const bool sinusoidal = table.type == "sinusoidal";
  if (table.shifts > 0 && (!sinusoidal || table.width < 2)) {
    fail(ExitCode::usage,
         "rotations move sinusoidal encodings of at least 2 columns; these are {} with {} columns",
         table.type, table.width);
  }
  double error = 0.0;
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    hdf5::Header header{"attn.positions", 1};
    header.creator = "attn-dump";
    header.command_line = command_line;
    header.git_revision = ATTN_GIT_REVISION;
    header.checkpoint_sha256 = table.checkpoint_sha256;
    hdf5::write_header(file, header);
    file.set_attribute("type", table.type);
    if (sinusoidal) file.set_attribute("base", table.base);
    if (!sinusoidal) file.set_attribute("max_len", table.count);
    const Axes axes = write_axes(file, table);
    write_encoding(file, table, axes);
    if (sinusoidal) {
      hdf5::Dataset wavelength = file.write("/wavelength", position_wavelengths(table.width, table.base));
      wavelength.describe("positions after which a column repeats", "positions");
      wavelength.attach_scale(0, axes.dimension);
    }
    if (table.similarity) write_similarity(file, table, axes);
    if (table.shifts > 0) error = write_rotations(file, table);
  });
  return error;
}

}  // namespace attn
