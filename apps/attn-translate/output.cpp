#include "output.h"

namespace attn::translate {

void Output::write(std::string_view bytes) {
  if (file_) {
    file_->write(bytes);
  } else {
    standard_.write(bytes);
  }
}

void Output::flush() {
  if (!file_) standard_.flush();
}

void Output::finish() {
  if (file_) {
    file_->commit();
  } else {
    standard_.finish();
  }
}

}  // namespace attn::translate
