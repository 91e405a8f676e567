// An allocator that can be made to fail, for LD_PRELOAD: allocations of at least some size fail after a number of them.
// Memory that the process holds for what must not fail (an anonymous mapping of megabytes) ends it when it is given back.
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

enum { kHeld = 1 << 22, kOfAStart = 300 };

static atomic_long left = -1;      // allocations until the first that fails; -1: none fails
static atomic_long failures = 0;   // how many fail then
static atomic_long failed = 0;
static atomic_size_t least = 0;    // smaller ones do not fail
static atomic_int given_back = 0;
static _Thread_local int made = 0;       // by this thread
static _Thread_local int is_first = 0;   // whether this thread lets allocations fail

void fail_allocations(long after, long count, size_t size) {
    atomic_store(&least, size);
    atomic_store(&failures, count);
    atomic_store(&failed, 0);
    atomic_store(&given_back, 0);
    is_first = 1;
    atomic_store(&left, after);
}

long failed_allocations(void) {
    atomic_store(&left, -1);
    return atomic_load(&failed);
}

static int fails(size_t size) {
    long now = atomic_load(&left);
    // Python waits forever for a thread that has no memory to begin.
    if (!is_first && ++made < kOfAStart) return 0;
    if (now < 0 || size < atomic_load(&least) || atomic_load(&given_back)) return 0;
    while (now > 0)
        if (atomic_compare_exchange_weak(&left, &now, now - 1)) return 0;
    if (now < 0 || atomic_fetch_add(&failed, 1) >= atomic_load(&failures)) return 0;
    errno = ENOMEM;
    return 1;
}

void* malloc(size_t size) { return fails(size) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails(count * size) ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails(size) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) { return fails(size) ? NULL : __libc_memalign(alignment, size); }
void* memalign(size_t alignment, size_t size) { return fails(size) ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
    if (fails(size)) return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

void* mmap(void* at, size_t size, int access, int flags, int file, off_t offset) {
    if ((flags & MAP_ANONYMOUS) && size >= kHeld) atomic_store(&given_back, 0);
    return (void*)syscall(SYS_mmap, at, size, access, flags, file, offset);
}

int munmap(void* at, size_t size) {
    if (size >= kHeld) atomic_store(&given_back, 1);
    return (int)syscall(SYS_munmap, at, size);
}
