#include "apps/napkin/watchdog.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace napkin::internal::cli {

Watchdog::Watchdog(std::chrono::seconds patience, std::string record, std::string advice)
    : patience_(patience), record_(std::move(record)), advice_(std::move(advice)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::watch(std::string key, std::string name) {
  {
    const std::lock_guard lock(mutex_);
    key_ = std::move(key);
    name_ = std::move(name);
    until_ = std::chrono::steady_clock::now() + patience_;
  }
  changed_.notify_all();
}

void Watchdog::rest() {
  const std::lock_guard lock(mutex_);
  until_.reset();
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (!until_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() >= *until_) {
      bite();
    } else {
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(*until_));
    }
  }
}

void Watchdog::bite() const {
  if (!record_.empty()) std::ofstream(record_, std::ios::app) << key_ << std::endl;
  std::fprintf(stderr, "\nnapkin: %s has not ended in %lld s: %s\n", name_.c_str(),
               static_cast<long long>(patience_.count()), advice_.c_str());
  std::_Exit(1);
}

std::string hung_file(const std::string& out) { return out + ".hung"; }

bool has_hung(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line == key) return true;
  }
  return false;
}

}  // namespace napkin::internal::cli
