#pragma once
#include "attn/core/sha256.h"
#include "attn/io/hdf5.h"
#include "attn/text/tokenizer.h"
#include "attn/text/vocabulary.h"

namespace attn {

// A side ("source" or "target") of a checkpoint: /vocabulary/SIDE has the vocabulary and the name of the
// tokenizer, /vocabulary/SIDE_subwords the model or codes of a tokenizer that has some.

/// Writes a side. Subwords that the file has already, of the other side, are not written once more.
void write_side(hdf5::File& file, const char* side, const Vocabulary& vocabulary, const Tokenizer& tokenizer);

/// Reads a side. Throws Error: input_data when vocabulary or subwords do not match their checksums or each
/// other, or a tokenizer lacks its subwords; config for an unknown tokenizer.
void read_side(const hdf5::File& file, const char* side, Vocabulary& vocabulary, Tokenizer& tokenizer);

/// Throws Error(input_data) when the file has another vocabulary of this side, or splits text otherwise.
void require_same_side(const hdf5::File& file, const char* side, const Vocabulary& vocabulary,
                       const Tokenizer& tokenizer);

/// Adds what decides how text becomes ids.
void add_side(Sha256& digest, const Vocabulary& vocabulary, const Tokenizer& tokenizer);

}  // namespace attn
