#include "model/interpret/npy.hpp"

#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>

namespace napkin::internal {
namespace {

constexpr std::string_view magic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t alignment = 64;

std::string header_of(const Tensor& tensor, NpyType type) {
  std::string shape;
  for (std::int64_t size : tensor.shape) shape += std::to_string(size) + ", ";
  if (tensor.shape.size() == 1) shape.pop_back();  // (3,)
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string text = std::string("{'descr': '") + (type == NpyType::f8 ? "<f8" : "<f4") +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const std::size_t before = magic.size() + 2;
  text.append((alignment - (before + text.size() + 1) % alignment) % alignment, ' ');
  return text + "\n";
}

template <class Bits>
void put(std::string& out, Bits value) {
  for (std::size_t i = 0; i < sizeof(Bits); ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
}

template <class Bits>
Bits get(const char* from) {
  Bits value = 0;
  for (std::size_t i = 0; i < sizeof(Bits); ++i) {
    value |= static_cast<Bits>(static_cast<Bits>(static_cast<unsigned char>(from[i])) << (8 * i));
  }
  return value;
}

/// Returns the text that follows "'key':" in the header.
std::string value_after(const std::string& header, const std::string& key, const std::string& name) {
  const auto at = header.find("'" + key + "'");
  const auto colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) throw Error(name, "no '" + key + "' in its header", "a .npy file");
  const auto first = header.find_first_not_of(' ', colon + 1);
  return first == std::string::npos ? "" : header.substr(first);
}

std::vector<std::int64_t> shape_in(const std::string& text, const std::string& name) {
  const auto close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string::npos) throw Error(name, "an unreadable shape", "(n, m)");
  std::vector<std::int64_t> shape;
  std::istringstream words(text.substr(1, close - 1));
  for (std::string word; std::getline(words, word, ',');) {
    const auto first = word.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(word.data() + first, word.data() + word.size(), size);
    if (error != std::errc() || end != word.data() + word.size() || size < 0) {
      throw Error(name, "an unreadable shape", "(n, m)");
    }
    shape.push_back(size);
  }
  return shape;
}

/// Returns a name that no other writer uses.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> serial{0};
  static const unsigned run = std::random_device{}();
  return path + "." + std::to_string(run) + "." + std::to_string(++serial) + ".tmp";
}

}  // namespace

void write_npy(std::ostream& out, const Tensor& tensor, NpyType type) {
  const std::string header = header_of(tensor, type);
  std::string bytes(magic);
  put(bytes, static_cast<std::uint16_t>(header.size()));
  bytes += header;
  for (double value : tensor.data) {
    if (type == NpyType::f8) {
      put(bytes, std::bit_cast<std::uint64_t>(value));
    } else {
      put(bytes, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
  }
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw Error("npy", "the file cannot be written", "");
}

void save_npy(const std::string& path, const Tensor& tensor, NpyType type) {
  const std::string temporary = temporary_name(path);
  std::error_code error;
  try {
    std::ofstream out(temporary, std::ios::binary);
    if (!out) throw Error(path, "cannot be created", "a folder that exists and may be written to");
    write_npy(out, tensor, type);
    out.close();
    if (!out) throw Error(path, "cannot be written", "a disk with room");
    std::filesystem::rename(temporary, path, error);
    if (error) throw Error(path, "cannot be put in place: " + error.message(), "");
  } catch (...) {
    std::filesystem::remove(temporary, error);
    throw;
  }
}

Tensor read_npy(std::istream& in, const std::string& name) {
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t before = magic.size() + 2;
  if (bytes.size() < before || std::string_view(bytes).substr(0, magic.size()) != magic) {
    throw Error(name, "not a .npy file of version 1.0", "what save_npy or numpy.save writes");
  }
  const std::size_t length = get<std::uint16_t>(bytes.data() + magic.size());
  if (bytes.size() < before + length) throw Error(name, "its header is cut off", "a whole file");
  const std::string header = bytes.substr(before, length);
  const std::string type = value_after(header, "descr", name).substr(0, 5);
  if (type != "'<f8'" && type != "'<f4'") throw Error(name, "holds " + type, "'<f8' or '<f4'");
  if (value_after(header, "fortran_order", name).substr(0, 5) != "False") {
    throw Error(name, "is in Fortran order", "C order");
  }
  Tensor tensor = filled(shape_in(value_after(header, "shape", name), name), 0);
  const std::size_t width = type == "'<f8'" ? 8 : 4;
  if ((bytes.size() - before - length) / width < tensor.data.size()) throw Error(name, "is cut off", "a whole file");
  const char* at = bytes.data() + before + length;
  for (double& value : tensor.data) {
    value = width == 8 ? std::bit_cast<double>(get<std::uint64_t>(at))
                       : static_cast<double>(std::bit_cast<float>(get<std::uint32_t>(at)));
    at += width;
  }
  return tensor;
}

}  // namespace napkin::internal
