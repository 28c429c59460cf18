/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/files.h"

#include "experiments/base/memory.h"
#include "solvers/core/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- reading ---- */

static char *files_read(const char *path, bool plain, double most, size_t *size)
{
  const int fd = perp_input_descriptor(path, plain, most);
  if (fd < 0) return NULL;
  int failed = 0;
  perp_text text = { 0 };
  char chunk[65536];
  ssize_t n = 1;
  while (failed == 0 && n != 0 && (double)text.n <= most) {
    n = read(fd, chunk, sizeof chunk);
    if (n > 0)
      perp_text_put(&text, chunk, (size_t)n);
    else if (n < 0 && errno != EINTR)
      failed = errno;
  }
  if (failed == 0 && n != 0) failed = EFBIG; /* it has grown, or it is of /proc */
  close(fd);
  if (failed != 0) {
    perp_text_free(&text);
    errno = failed;
    return NULL;
  }
  if (text.s == NULL) perp_text_put(&text, "", 0);
  if (size != NULL) *size = text.n;
  return text.s;
}

enum { MOST_FILE = 1 << 30, MOST_INPUT = 64 << 20 };

char *perp_read_file(const char *path, size_t *size)
{
  return files_read(path, false, MOST_FILE, size);
}

char *perp_read_bounded(const char *path, double most, size_t *size)
{
  return files_read(path, false, most, size);
}

char *perp_read_input(const char *path, size_t *size, const char **why)
{
  char *text = files_read(path, false, MOST_INPUT, size);
  *why = text != NULL ? NULL : errno == EFBIG ? "it is larger than 64 MiB" : perp_input_why(errno);
  return text;
}

char *perp_read_plain(const char *path, size_t *size)
{
  return files_read(path, true, MOST_FILE, size);
}

char *perp_real_path(const char *path)
{
  char *whole = realpath(path, NULL);
  if (whole == NULL && errno == ENOMEM) perp_memory_out();
  return whole;
}

/* ---- writing ---- */

static uint64_t files_random(void)
{
  uint64_t v = 0;
  if (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v) {
    /* no entropy yet: O_EXCL still refuses what stands there */
    double t = perp_clock_wall();
    v = perp_hash64(&t, sizeof t, (uint64_t)getpid());
  }
  return v;
}

/* What has no content that a rename could replace: it is written to where it is. */
static bool files_is_stream(const char *path)
{
  struct stat st;
  if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return true;
  return lstat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

/* To write into a pipe or a device as it is; a pipe that nobody reads is waited for 1 s, for a
 * reader that is being started.  -1 with errno. */
static int files_open_stream(const char *path)
{
  enum { TRIES = 20 };
  const struct timespec pause = { 0, 50000000 };
  int fd = -1;
  for (int i = 0; i < TRIES; i++) {
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 || errno != ENXIO) break;
    nanosleep(&pause, NULL);
  }
  if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

/* What a stream writes to.  A stream forgets why a write failed long before it is closed. */
struct perp_sink {
  int fd, why; /* errno of the first failure */
};

static ssize_t files_sink_write(void *cookie, const char *bytes, size_t size)
{
  struct perp_sink *sink = cookie;
  size_t done = 0;
  while (done < size) {
    const ssize_t n = write(sink->fd, bytes + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (sink->why == 0) sink->why = errno;
      return 0;
    }
    done += (size_t)n;
  }
  return (ssize_t)size;
}

static int files_sink_close(void *cookie)
{
  struct perp_sink *sink = cookie;
  if (close(sink->fd) == 0) return 0;
  if (sink->why == 0) sink->why = errno;
  return EOF;
}

/* NULL with errno set: the file is closed. */
static FILE *files_sink_open(int fd, struct perp_sink **sink)
{
  static const cookie_io_functions_t calls = { .write = files_sink_write,
                                               .close = files_sink_close };
  *sink = perp_xalloc(1, sizeof **sink);
  (*sink)->fd = fd;
  FILE *file = fopencookie(*sink, "w", calls);
  if (file != NULL) return file;
  const int why = errno;
  close(fd);
  free(*sink);
  *sink = NULL;
  errno = why;
  return NULL;
}

static perp_status files_refuse(perp_ctx *ctx, const char *path)
{
  return PERP_FAIL(ctx, PERP_ERR_IO, "cannot write %s: %s", path,
                   errno == ENXIO ? "it is a pipe that nobody reads" : strerror(errno));
}

static char *files_part(const char *path)
{
  const char *slash = strrchr(path, '/');
  return perp_xprintf("%.*s.perp-%016llx.tmp", slash != NULL ? (int)(slash - path) + 1 : 0, path,
                      (unsigned long long)files_random());
}

/* Why a file without a name could not be made: this file system or kernel has none. */
static bool files_has_no_nameless(int why)
{
  return why == EOPNOTSUPP || why == EISDIR || why == EINVAL;
}

static perp_status files_out_open(perp_ctx *ctx, const char *path, bool named, perp_out *out)
{
  *out = (perp_out){ 0 };
  const char *slash = strrchr(path, '/');
  bool stream = files_is_stream(path);
  struct stat st;
  int fd = -1;
  if (!stream && (path[0] == '\0' || slash == path + strlen(path) - 1 ||
                  (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))))
    errno = EISDIR;
  else if (stream)
    fd = files_open_stream(path);
  else {
    const bool nameless = !named && access("/proc/self/fd", X_OK) == 0; /* where it gets its name */
    char *folder = slash != NULL ? perp_xprintf("%.*s", (int)(slash - path) + 1, path) : NULL;
    errno = EOPNOTSUPP;
    if (nameless) fd = open(folder != NULL ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    free(folder);
    for (int k = 0; k < 100 && fd < 0 && (k > 0 || files_has_no_nameless(errno)); k++) {
      free(out->part);
      out->part = files_part(path);
      fd = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (fd < 0 && errno != EEXIST) break;
    }
    out->nameless = fd >= 0 && out->part == NULL;
  }
  out->f = fd >= 0 ? files_sink_open(fd, &out->sink) : NULL;
  if (out->f != NULL) {
    out->path = perp_xstrdup(path);
    return PERP_OK;
  }
  files_refuse(ctx, path);
  if (fd >= 0 && out->part != NULL) unlink(out->part);
  free(out->part);
  *out = (perp_out){ 0 };
  return PERP_ERR_IO;
}

/* The name beside its own under which a file without a name can be renamed: linkat replaces
 * nothing. */
static bool files_link(perp_out *out)
{
  char nameless[64];
  snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", out->sink->fd);
  for (int k = 0; k < 100; k++) {
    free(out->part);
    out->part = files_part(out->path);
    if (linkat(AT_FDCWD, nameless, AT_FDCWD, out->part, AT_SYMLINK_FOLLOW) == 0) return true;
    if (errno != EEXIST) break;
  }
  free(out->part);
  out->part = NULL;
  return false;
}

perp_status perp_out_open(perp_ctx *ctx, const char *path, perp_out *out)
{
  return files_out_open(ctx, path, false, out);
}

perp_status perp_out_open_named(perp_ctx *ctx, const char *path, perp_out *out, const char **name)
{
  PERP_TRY(files_out_open(ctx, path, true, out));
  *name = out->part != NULL ? out->part : out->path;
  return PERP_OK;
}

perp_status perp_out_close(perp_ctx *ctx, perp_out *out, bool keep)
{
  if (out->f == NULL) return PERP_OK;
  perp_status status = PERP_OK;
  bool bad = ferror(out->f) != 0 || fflush(out->f) != 0;
  if (out->nameless && keep && !bad && !files_link(out)) {
    bad = true;
    if (out->sink->why == 0) out->sink->why = errno;
  }
  bad = fclose(out->f) != 0 || bad;
  errno = out->sink->why;
  free(out->sink);
  if (bad && keep) status = files_refuse(ctx, out->path);
  if (status == PERP_OK && keep && out->part != NULL && rename(out->part, out->path) != 0)
    status = files_refuse(ctx, out->path);
  if (out->part != NULL && (!keep || status != PERP_OK)) unlink(out->part);
  free(out->path);
  free(out->part);
  *out = (perp_out){ 0 };
  return status;
}

char *perp_growing_path(const char *path)
{
  return files_is_stream(path) ? perp_xstrdup(path) : perp_xprintf("%s.tmp", path);
}

FILE *perp_growing_open(const char *part)
{
  const bool stream = files_is_stream(part);
  if (!stream) unlink(part);
  const int fd = stream ? files_open_stream(part)
                        : open(part, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (fd >= 0 && file == NULL) {
    const int why = errno;
    close(fd);
    if (!stream) unlink(part);
    errno = why;
  }
  return file;
}

bool perp_growing_name(const char *part, const char *path)
{
  struct stat st;
  if (strcmp(part, path) == 0 || lstat(part, &st) != 0) return true;
  return rename(part, path) == 0;
}

perp_status perp_write_file(perp_ctx *ctx, const char *path, const char *text, size_t size)
{
  perp_out out;
  PERP_TRY(perp_out_open(ctx, path, &out));
  fwrite(text, 1, size, out.f); /* closing tells when it failed */
  return perp_out_close(ctx, &out, true);
}

/* ---- folders ---- */

perp_status perp_make_dirs(perp_ctx *ctx, const char *path)
{
  char *p = perp_xstrdup(path);
  perp_status status = PERP_OK;
  for (char *s = p + 1;; s++) {
    if (*s != '/' && *s != '\0') continue;
    char keep = *s;
    *s = '\0';
    struct stat st;
    if (mkdir(p, 0777) != 0 && !(errno == EEXIST && stat(p, &st) == 0 && S_ISDIR(st.st_mode))) {
      status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot create the folder %s: %s", p, strerror(errno));
      break;
    }
    *s = keep;
    if (keep == '\0') break;
  }
  free(p);
  return status;
}

perp_status perp_make_part(perp_ctx *ctx, const char *dir, const char *name)
{
  char *path = perp_xprintf("%s/%s", dir, name);
  struct stat st;
  perp_status status = perp_make_dirs(ctx, dir);
  if (status == PERP_OK && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
    status = PERP_FAIL(ctx, PERP_ERR_IO,
                       "%s is a link; results are written only to a real folder: remove the link, "
                       "or choose another folder",
                       path);
  if (status == PERP_OK) status = perp_make_dirs(ctx, path);
  free(path);
  return status;
}

void perp_remove_files(const char *dir, const char *suffix)
{
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
  if (folder == NULL) {
    if (fd >= 0) close(fd);
    return;
  }
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    size_t n = strlen(entry->d_name), k = strlen(suffix);
    struct stat st;
    if (n < k || strcmp(entry->d_name + n - k, suffix) != 0) continue;
    if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
      unlinkat(dirfd(folder), entry->d_name, 0);
  }
  closedir(folder);
}

/* Folders of this process that exist.  Each is held open with a lock: the kernel frees it with the
 * process, however that ends. */
enum { MOST_TEMPS = 8 };
static struct {
  pid_t owner;
  int lock;
  char path[256];
} temps[MOST_TEMPS];

static int files_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st, (void)type, (void)ftw;
  remove(path);
  return 0;
}

static void files_remove_tree(const char *folder)
{
  for (int k = 0; k < 2; k++) /* once more: the first may have been out of memory or of files */
    if (nftw(folder, files_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0) return;
}

/* This process ends without memory. */
static void files_remove_temps(void)
{
  for (int temp = 0; temp < MOST_TEMPS; temp++)
    if (temps[temp].owner == getpid()) files_remove_tree(temps[temp].path);
}

static bool files_is_temp(const char *name)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return strncmp(name, "perp-", 5) == 0 && strlen(name) == 11 && strspn(name + 5, letters) == 6;
}

/* Folders of processes that were killed: ours by owner, an hour old, and nobody holds the lock. */
static void files_sweep(const char *tmp)
{
  DIR *folder = opendir(tmp);
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    struct stat st;
    if (!files_is_temp(entry->d_name)) continue;
    const int fd = openat(dirfd(folder), entry->d_name,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && time(NULL) - st.st_mtime > 3600 &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
      char *path = perp_xprintf("%s/%s", tmp, entry->d_name);
      files_remove_tree(path);
      free(path);
    }
    close(fd);
  }
  closedir(folder);
}

static void files_hold_temp(const char *path)
{
  perp_memory_last(files_remove_temps);
  for (int temp = 0; temp < MOST_TEMPS; temp++) {
    if (temps[temp].owner != 0 || strlen(path) >= sizeof temps[temp].path) continue;
    temps[temp].owner = getpid();
    temps[temp].lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (temps[temp].lock >= 0) flock(temps[temp].lock, LOCK_EX | LOCK_NB);
    snprintf(temps[temp].path, sizeof temps[temp].path, "%s", path);
    return;
  }
}

static void files_let_temp(const char *path)
{
  for (int temp = 0; temp < MOST_TEMPS; temp++) {
    if (temps[temp].owner == 0 || strcmp(temps[temp].path, path) != 0) continue;
    if (temps[temp].lock >= 0) close(temps[temp].lock);
    temps[temp].owner = 0;
  }
}

char *perp_temp_folder(perp_ctx *ctx)
{
  const char *tmp = getenv("TMPDIR");
  if (tmp == NULL || tmp[0] == '\0') tmp = "/tmp";
  files_sweep(tmp);
  char *path = perp_xprintf("%s/perp-XXXXXX", tmp);
  if (mkdtemp(path) != NULL) {
    files_hold_temp(path);
    return path;
  }
  PERP_FAIL(ctx, PERP_ERR_IO, "cannot create a temporary folder %s: %s", path, strerror(errno));
  free(path);
  return NULL;
}

void perp_temp_remove(char *folder)
{
  if (folder != NULL) {
    files_remove_tree(folder);
    files_let_temp(folder);
  }
  free(folder);
}

bool perp_send_all(int fd, const void *bytes, size_t size)
{
  const char *at = bytes;
  while (size > 0) {
    const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

bool perp_receive_all(int fd, void *bytes, size_t size)
{
  char *at = bytes;
  while (size > 0) {
    const ssize_t n = recv(fd, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = 0;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

bool perp_exists(const char *path)
{
  return access(path, F_OK) == 0;
}

char *perp_base_name(const char *path, const char *suffix)
{
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  char *name = perp_xprintf("%.*s", (int)(end - begin), path + begin);
  size_t n = strlen(name), k = strlen(suffix);
  if (n > k && strcmp(name + n - k, suffix) == 0) name[n - k] = '\0';
  return name;
}
