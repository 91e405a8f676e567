// Why a record cannot be read, and the bounds on records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scwlearn {

// Upper bound on the characters of a key of several features, such as a VW namespace: it is repeated in the name of each.
inline constexpr std::int64_t kLongestKey = 256;
// Upper bound on how deep objects are nested.
inline constexpr int kDeepest = 32;
// Upper bounds on the features of a record, on its interactions, and on the values of a batch.
inline constexpr std::size_t kMostFeatures = std::size_t{1} << 20, kMostCrossed = kMostFeatures,
                             kMostValues = std::size_t{1} << 26;
// Upper bound on the different features of a batch, whose names Python keeps.
inline constexpr std::size_t kMostNames = std::size_t{1} << 22;

// A batch that is read in parts has hardly more values, names and bytes of names than this: its names take about 300 bytes
// each in Python, too. Up to twice the names of the first record are allowed, because wide tables share them.
inline constexpr std::size_t kPartValues = std::size_t{1} << 21, kPartNames = std::size_t{1} << 17,
                             kPartBytes = std::size_t{1} << 24;
// Upper bound on the bytes of the new names of a record, apart from those that its text contains.
inline constexpr std::size_t kMostNameBytes = std::size_t{1} << 26;

// Words and n-grams of a record for each byte of its texts, beyond `kMostFeatures`.
inline constexpr std::size_t kGramsPerByte = 16;

// Characters of a key or value that messages show.
inline constexpr std::size_t kShown = 100;

// The fault by the name that Python uses; the key and the value found there.
struct RecordFault {
    const char* fault = nullptr;
    std::string key;
    std::string found;
};

}  // namespace scwlearn
