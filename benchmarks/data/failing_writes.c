/* Lets calls that write below a folder fail: preloaded (LD_PRELOAD) by benchmarks/failing_writes.py.

   FAIL_BELOW  the folder (an absolute path)
   FAIL_FROM   the number of the first such call that fails; all later ones fail, too, as on a full disk; 0: none
   FAIL_ERRNO  the number of the error
   FAIL_COUNT  a file of 8 bytes, shared by all processes of a run: how many such calls there were

   Counted are: an open for writing, a write, a new folder, a new name. Of files that standard C functions open inside
   of the C library (fopen), only the writes of other callers are seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static long *counted(void) {
    static long *place;
    if (place == NULL && getenv("FAIL_COUNT") != NULL) {
        int file = (int)REAL(open)(getenv("FAIL_COUNT"), O_RDWR | O_CLOEXEC);
        void *found = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file >= 0) close(file);
        if (found != MAP_FAILED) place = found;
    }
    return place;
}

/* Whether this call, on a path below the folder, fails. */
static int fails(const char *path) {
    const char *below = getenv("FAIL_BELOW"), *from = getenv("FAIL_FROM"), *number = getenv("FAIL_ERRNO");
    if (below == NULL || from == NULL || number == NULL || strncmp(path, below, strlen(below)) != 0) return 0;
    long *place = counted();
    if (place == NULL) return 0;
    long now = __atomic_add_fetch(place, 1, __ATOMIC_SEQ_CST);
    if (atol(from) == 0 || now < atol(from)) return 0;
    errno = atoi(number);
    return 1;
}

static int fails_at(int folder, const char *path) {
    char place[64], found[PATH_MAX], whole[2 * PATH_MAX];
    if (path[0] == '/') return fails(path);
    if (folder == AT_FDCWD) strcpy(place, "/proc/self/cwd");
    else snprintf(place, sizeof place, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(place, found, sizeof found - 1);
    if (length < 0) return 0;
    found[length] = 0;
    snprintf(whole, sizeof whole, "%s/%s", found, path);
    return fails(whole);
}

static int fails_file(int file) {
    char place[64], found[PATH_MAX];
    int before = errno;
    snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    ssize_t length = readlink(place, found, sizeof found - 1);
    errno = before;
    if (length < 0) return 0;
    found[length] = 0;
    return fails(found);
}

static int writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

#define MODE mode_t mode = 0; if (flags & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }
#define OPEN(name) int name(const char *path, int flags, ...) { MODE \
    return writes(flags) && fails_at(AT_FDCWD, path) ? -1 : REAL(name)(path, flags, mode); }
#define OPENAT(name) int name(int folder, const char *path, int flags, ...) { MODE \
    return writes(flags) && fails_at(folder, path) ? -1 : REAL(name)(folder, path, flags, mode); }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)

int mkdir(const char *path, mode_t mode) { return fails_at(AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) {
    return fails_at(folder, path) ? -1 : REAL(mkdirat)(folder, path, mode);
}
int rename(const char *from, const char *to) { return fails_at(AT_FDCWD, to) ? -1 : REAL(rename)(from, to); }
int renameat(int a, const char *from, int b, const char *to) {
    return fails_at(b, to) ? -1 : REAL(renameat)(a, from, b, to);
}
ssize_t write(int file, const void *from, size_t count) {
    return fails_file(file) ? -1 : REAL(write)(file, from, count);
}
ssize_t writev(int file, const struct iovec *from, int count) {
    return fails_file(file) ? -1 : REAL(writev)(file, from, count);
}
ssize_t pwrite(int file, const void *from, size_t count, off_t place) {
    return fails_file(file) ? -1 : REAL(pwrite)(file, from, count, place);
}
ssize_t pwrite64(int file, const void *from, size_t count, off64_t place) {
    return fails_file(file) ? -1 : REAL(pwrite64)(file, from, count, place);
}
