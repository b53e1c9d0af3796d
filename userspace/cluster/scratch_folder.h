// SPDX-License-Identifier: GPL-2.0
// For tests only: a folder that is removed with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace smartio::cluster {

class ScratchFolder {
 public:
  ScratchFolder() : path_(::mkdtemp(name_.data()) != nullptr ? name_ : throw std::runtime_error("no folder")) {}
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::string name_ = "/tmp/smartio-cluster-XXXXXX";
  std::filesystem::path path_;
};

}  // namespace smartio::cluster
