// An allocator that can be made to fail, for LD_PRELOAD: allocations fail after a number of them. Those of C++ have any
// size; those of C are large, because NumPy crashes where its own small ones fail. Memory that the process holds for what
// must not fail (an anonymous mapping of megabytes) ends it when it is given back.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

constexpr std::size_t kHeld = std::size_t{1} << 22, kLarge = 100'000;
// Python waits forever for a thread that has no memory to begin.
constexpr int kOfAStart = 300;

std::atomic<long> left{-1};     // allocations until the first that fails; -1: none fails
std::atomic<long> failures{0};  // how many fail then
std::atomic<long> failed{0};
std::atomic<bool> given_back{false};
thread_local int made = 0;            // by this thread
thread_local bool is_first = false;   // whether this thread lets allocations fail

bool fails() noexcept {
    if (left.load() < 0 || given_back.load() || (!is_first && ++made < kOfAStart)) return false;
    for (long now = left.load(); now != 0;)
        if (now < 0 || left.compare_exchange_weak(now, now - 1)) return false;
    return failed.fetch_add(1) < failures.load();
}

bool fails_if_large(std::size_t size) noexcept {
    if (size < kLarge || !fails()) return false;
    errno = ENOMEM;
    return true;
}

}  // namespace

extern "C" {

void fail_allocations(long after, long count) {
    failures = count;
    failed = 0;
    given_back = false;
    is_first = true;
    left = after;
}

void end_failures() { left = -1; }

void* malloc(std::size_t size) { return fails_if_large(size) ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
    return fails_if_large(count * size) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) { return fails_if_large(size) ? nullptr : __libc_realloc(old, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fails_if_large(size) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    *memory = aligned_alloc(alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}

void* mmap(void* at, std::size_t size, int access, int flags, int file, off_t offset) {
    if ((flags & MAP_ANONYMOUS) != 0 && size >= kHeld) given_back = false;
    return reinterpret_cast<void*>(syscall(SYS_mmap, at, size, access, flags, file, offset));
}

int munmap(void* at, std::size_t size) {
    if (size >= kHeld) given_back = true;
    return static_cast<int>(syscall(SYS_munmap, at, size));
}

}  // extern "C"

void* operator new(std::size_t size) {
    void* const memory = fails() ? nullptr : __libc_malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    void* const memory = fails() ? nullptr : __libc_memalign(static_cast<std::size_t>(alignment), size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
