#pragma once
#include <cstddef>

namespace attn::cli {

/// Whether this descriptor is a terminal that understands control sequences (TERM is not "dumb").
bool is_terminal(int descriptor);

/// Whether colour is welcome: a terminal, and NO_COLOR is unset or empty (https://no-color.org).
bool wants_colour(int descriptor);

/// Columns of the terminal; 80 where that is unknown.
std::size_t terminal_width(int descriptor);

}  // namespace attn::cli
