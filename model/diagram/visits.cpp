#include "model/diagram/visits.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace napkin::internal {
namespace {

__extension__ typedef __int128 Int128;  // products of two 64-bit sizes do not wrap in it

/// Largest size that is counted in 64 bits, which divide several times faster: the sums below are of indices, at most
/// (rows + columns) x rows in number.
constexpr std::int64_t most_narrow = std::int64_t{1} << 28;

template <class Wide>
Wide floor_div(Wide a, Wide b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}
template <class Wide>
Wide ceil_quotient(Wide a, Wide b) {
  return -floor_div<Wide>(-a, b);
}

template <class Wide>
Wide product(Wide a, Wide b) {
  Wide result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw Overflow("a count of masked chunks");
  return result;
}

template <class Wide>
Count narrow(Wide value) {
  if (value > INT64_MAX) throw Overflow("a count of masked chunks");
  return static_cast<std::int64_t>(value);
}

/// Returns the sum over i in [0, n) of floor((a i + b) / m), for a, b >= 0, m > 0, by Euclid's algorithm: O(log m).
template <class Wide>
Wide floor_sum(Wide n, Wide m, Wide a, Wide b) {
  Wide sum = 0;
  while (n > 0) {
    sum += product(n * (n - 1) / 2, a / m) + product(n, b / m);
    a %= m;
    b %= m;
    const Wide top = a * n + b;
    n = top / m;
    b = top % m;
    std::swap(a, m);
    if (m == 0) break;
  }
  return sum;
}

/// Returns the maximum over i in [0, n) of (a i + b) mod m.
template <class Wide>
Wide largest_residue(Wide n, Wide m, Wide a, Wide b) {
  a %= m;
  b %= m;
  const Wide step = std::gcd(static_cast<std::int64_t>(a), static_cast<std::int64_t>(m));
  if (n >= m / step) return m - step + b % step;  // residues of all multiples of `step`
  Wide low = 0, high = m - 1;                     // the largest t that some residue reaches
  const Wide below = floor_sum(n, m, a, b);
  while (low < high) {
    const Wide t = low + (high - low + 1) / 2;
    const bool reached = floor_sum(n, m, a, b + m - t) > below;
    (reached ? low : high) = reached ? t : t - 1;
  }
  return low;
}

/// A band mask seen from its grouped axis: member i of `outer` sees i + below .. i + above of `inner`, which is walked
/// in chunks. Everything below counts over the groups [0, outer / group) in full and the ragged one apart. Groups that
/// all see the same range are a plane of a single member, which counts as `groups` groups and `members` members.
template <class Wide>
struct Plane {
  Wide outer, inner, group, chunk, below, above;
  Wide groups = 1, members = 1;

  [[nodiscard]] Wide from(Wide k) const { return k * group + below; }
  [[nodiscard]] Wide to(Wide k) const { return k * group + group + above; }  // exclusive
  [[nodiscard]] Wide full_groups() const { return outer / group; }
  [[nodiscard]] Wide all_chunks() const { return ceil_quotient(inner, chunk); }
};

template <class Wide>
struct Totals {
  Wide chunks = 0, indices = 0, longest = 0;
};

/// Returns the totals of one group, of the members [first, first + size).
template <class Wide>
Totals<Wide> of_group(const Plane<Wide>& p, Wide first, Wide size) {
  const Wide from = std::max<Wide>(first + p.below, 0), to = std::min(first + size + p.above, p.inner);
  if (size <= 0 || p.below > p.above || from >= to) return {};
  const Wide begin = from / p.chunk, end = ceil_quotient(to, p.chunk);
  return {end - begin, std::min(end * p.chunk, p.inner) - begin * p.chunk, end - begin};
}

/// The full groups k that see anything: [begin, end); from(k) > 0 holds from `inside` on, to(k) >= inner from `beyond`
/// on.
template <class Wide>
struct Ranges {
  Wide begin, end, inside, beyond;
};

template <class Wide>
Ranges<Wide> ranges_of(const Plane<Wide>& p) {
  const Wide begin = std::max<Wide>(0, floor_div(-(p.group + p.above), p.group) + 1);
  const Wide end = std::max(begin, std::min(p.full_groups(), ceil_quotient(p.inner - p.below, p.group)));
  return {begin, end, std::clamp(floor_div(-p.below, p.group) + 1, begin, end),
          std::clamp(ceil_quotient(p.inner - p.group - p.above, p.group), begin, end)};
}

template <class Wide>
Wide longest_of(const Plane<Wide>& p, const Ranges<Wide>& r) {
  Wide longest = 0;
  for (Wide k : {r.begin, r.inside - 1, r.inside, r.beyond - 1, r.beyond, r.end - 1}) {
    if (k >= r.begin && k < r.end) longest = std::max(longest, of_group(p, k * p.group, p.group).longest);
  }
  // Between the borders a group sees `width` indices from anywhere in a chunk: the later it begins, the more chunks.
  if (r.inside < r.beyond) {
    const Wide width = p.group + p.above - p.below;
    const Wide start = largest_residue(r.beyond - r.inside, p.chunk, p.group, p.from(r.inside));
    longest = std::max(longest, ceil_quotient(start + width, p.chunk));
  }
  return longest;
}

template <class Wide>
Totals<Wide> of_full_groups(const Plane<Wide>& p, bool want_longest) {
  if (p.below > p.above || p.full_groups() == 0) return {};
  const Ranges<Wide> r = ranges_of(p);
  if (r.begin == r.end) return {};
  const Wide last_chunk = p.all_chunks() - 1;
  // Ends: ceil(to / chunk) until to reaches the end of the axis; starts: floor(from / chunk) once from is inside.
  const Wide ends = floor_sum(r.beyond - r.begin, p.chunk, p.group, p.to(r.begin) + p.chunk - 1) +
                    product(r.end - r.beyond, last_chunk + 1);
  const Wide starts = r.inside == r.end ? 0 : floor_sum(r.end - r.inside, p.chunk, p.group, p.from(r.inside));
  // Groups that visit the last chunk count its ragged part only.
  const Wide reach = std::clamp(floor_div(last_chunk * p.chunk - p.group - p.above, p.group) + 1, r.begin, r.end);
  const Wide cut = product(r.end - reach, (last_chunk + 1) * p.chunk - p.inner);
  return {ends - starts, product(ends - starts, p.chunk) - cut, want_longest ? longest_of(p, r) : 0};
}

/// Returns the mask as a band over the grouped axis. Without a mask and under a causal one it is unbounded on a side:
/// any bound past both axes will do.
template <class Wide>
Plane<Wide> band_plane(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t group,
                       std::int64_t chunk, bool streamed_rows) {
  const Wide shift = Wide{columns} - rows, past = Wide{columns} + rows;
  Wide below = -past, above = past;
  if (mask.kind == Mask::Kind::causal) above = shift;
  if (mask.kind == Mask::Kind::window) {
    below = shift - mask.left;
    above = shift + mask.right;
  }
  // A band that begins before any column or ends after the last one may be cut there without changing what is seen.
  below = std::max(below, -past);
  above = std::min(above, past);
  if (streamed_rows) return {columns, rows, std::min(group, columns), std::min(chunk, rows), -above, -below};
  return {rows, columns, std::min(group, rows), std::min(chunk, columns), below, above};
}

/// The planes of a mask, whose groups together are those of the grouped axis.
template <class Wide>
struct Planes {
  std::array<Plane<Wide>, 2> all = {};
  std::size_t count = 0;
  void add(const Plane<Wide>& plane) { all[count++] = plane; }
  [[nodiscard]] const Plane<Wide>* begin() const { return all.data(); }
  [[nodiscard]] const Plane<Wide>* end() const { return all.data() + count; }
};

template <class Wide>
Planes<Wide> planes_of(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t group,
                       std::int64_t chunk, bool streamed_rows) {
  Planes<Wide> planes;
  if (mask.kind != Mask::Kind::prefix) {
    planes.add(band_plane<Wide>(mask, rows, columns, group, chunk, streamed_rows));
    return planes;
  }
  // The first groups see the prefix alone (or, of columns, are in it and seen by all rows); the rest is causal.
  const std::int64_t all = std::clamp<std::int64_t>(mask.left, 0, columns), outer = streamed_rows ? columns : rows;
  group = std::min(group, outer);
  const std::int64_t flat = std::clamp<std::int64_t>(streamed_rows ? all : all - columns + rows, 0, rows + columns);
  const std::int64_t groups = streamed_rows ? flat / group + (flat % group != 0 ? 1 : 0) : flat / group;
  const std::int64_t members = groups > outer / group ? outer : groups * group;
  if (groups > 0 && all > 0) {
    Plane<Wide> same = band_plane<Wide>({}, rows, columns, 1, chunk, streamed_rows);
    same.outer = 1, same.above = (streamed_rows ? rows : all) - 1, same.groups = groups, same.members = members;
    planes.add(same);
  }
  if (const std::int64_t left = all > 0 ? outer - members : outer; left > 0)
    planes.add(band_plane<Wide>({Mask::Kind::causal, 0, 0}, streamed_rows ? rows : left, streamed_rows ? left : columns,
                                group, chunk, streamed_rows));
  return planes;
}

template <class Wide>
Totals<Wide> totals_of(const Plane<Wide>& p, bool want_longest) {
  const Wide whole = p.full_groups() * p.group;
  Totals<Wide> t = of_full_groups(p, want_longest);
  const Totals<Wide> ragged = of_group(p, whole, p.outer - whole);
  return {product(t.chunks + ragged.chunks, p.groups), product(t.indices + ragged.indices, p.groups),
          std::max(t.longest, ragged.longest)};
}

template <class Wide>
Wide weighted_of(const Plane<Wide>& p) {
  const Wide whole = p.full_groups() * p.group;
  return product(product(of_full_groups(p, false).indices, p.group) +
                     product(of_group(p, whole, p.outer - whole).indices, p.outer - whole),
                 p.members);
}
template <class Wide>
Wide weighted_of(const Planes<Wide>& planes) {
  Wide sum = 0;
  for (const Plane<Wide>& p : planes) sum += weighted_of(p);
  return sum;
}

template <class Wide>
Visits visits_of(const Planes<Wide>& planes) {
  Wide groups = 0, chunks = 0, indices = 0, longest = 0;
  for (const Plane<Wide>& p : planes) {
    const Totals<Wide> t = totals_of(p, true);
    groups += product(ceil_quotient(p.outer, p.group), p.groups);
    chunks += t.chunks, indices += t.indices, longest = std::max(longest, t.longest);
  }
  return {narrow(groups), narrow(chunks), narrow(indices), narrow(longest)};
}

/// Calls use() with the planes, in the narrowest numbers that hold their sums.
template <class Use>
auto with_planes(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t group, std::int64_t chunk,
                 bool streamed_rows, const Use& use) {
  const auto fits = [](std::int64_t n) { return n <= most_narrow && n >= -most_narrow; };
  if (fits(rows) && fits(columns) && fits(mask.left) && fits(mask.right))
    return use(planes_of<std::int64_t>(mask, rows, columns, group, chunk, streamed_rows));
  return use(planes_of<Int128>(mask, rows, columns, group, chunk, streamed_rows));
}

}  // namespace

Span visited_chunks(const Mask& mask, std::int64_t row_first, std::int64_t row_last, std::int64_t rows,
                    std::int64_t columns, std::int64_t chunk) {
  const Span seen = visible(mask, row_first, row_last, rows, columns);
  if (seen.first >= seen.last) return {0, 0};
  return {seen.first / chunk, (seen.last - 1) / chunk + 1};
}

Visits visits(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t row_group, std::int64_t chunk) {
  return with_planes(mask, rows, columns, row_group, chunk, false,
                     [](const auto& planes) { return visits_of(planes); });
}

Visits visits_of_rows(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t column_group,
                      std::int64_t chunk) {
  return with_planes(mask, rows, columns, column_group, chunk, true,
                     [](const auto& planes) { return visits_of(planes); });
}

Count visited_pairs(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t group, std::int64_t chunk,
                    bool streamed_rows) {
  return with_planes(mask, rows, columns, group, chunk, streamed_rows,
                     [](const auto& planes) { return narrow(weighted_of(planes)); });
}

Count visited_in_split(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t group,
                       std::int64_t stream_group, std::int64_t chunk, bool streamed_rows, bool weighted) {
  using Wide = Int128;
  const auto count = [&](const Plane<Wide>& p) { return weighted ? weighted_of(p) : totals_of(p, false).indices; };
  Wide sum = 0;
  for (const Plane<Wide>& whole :
       planes_of<Wide>(mask, rows, columns, group, std::min(chunk, stream_group), streamed_rows)) {
    const Wide part = std::min<Wide>(stream_group, whole.inner);
    if (part % whole.chunk == 0) {  // the parts consist of whole chunks, as if the axis were not split
      sum += count(whole);
      continue;
    }
    if (whole.inner / part > 1'000'000) {
      throw Error("", "more than a million groups whose chunks are ragged", "a chunk size that divides the group size");
    }
    for (Wide first = 0; first < whole.inner; first += part) {
      Plane<Wide> p = whole;
      p.inner = std::min(part, whole.inner - first);
      p.chunk = std::min(whole.chunk, p.inner);
      p.below -= first;
      p.above -= first;
      sum += count(p);
    }
  }
  return narrow(sum);
}

}  // namespace napkin::internal
