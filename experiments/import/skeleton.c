/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of skeletons by their endings, and the part of a motion that is used. */
#include "experiments/import/skeleton.h"

#include "experiments/base/files.h"
#include "experiments/import/asf.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double SKELETON_AMC_TIME = 1.0 / 120; /* s, of the CMU Graphics Lab motion capture */

static bool skeleton_is(const char *name, size_t n, const char *end)
{
  const size_t k = strlen(end);
  return n > k && strncasecmp(name + n - k, end, k) == 0;
}

bool perp_skeleton_ends(const char *name, size_t n)
{
  return skeleton_is(name, n, ".bvh") || skeleton_is(name, n, ".asf") ||
         skeleton_is(name, n, ".amc");
}

/* The only ASF file of a folder; NULL: none or several. */
static char *skeleton_only(const char *folder)
{
  char *found = NULL;
  int n = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
    if (skeleton_is(entry->d_name, strlen(entry->d_name), ".asf") && n++ == 0)
      found = perp_xprintf("%s/%s", folder, entry->d_name);
  if (dir != NULL) closedir(dir);
  if (n == 1) return found;
  free(found);
  return NULL;
}

/* The skeleton that an AMC file moves; NULL: there is none. */
static char *skeleton_beside(const char *path)
{
  static const char *const ends[] = { ".asf", ".ASF" };
  const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
  const int folder = (int)(base - path), stem = (int)strlen(base) - 4,
            before = (int)strcspn(base, "_");
  for (int i = 0; i < 4; i++) {
    const int n = i < 2 ? stem : before;
    char *asf = perp_xprintf("%.*s%.*s%s", folder, path, n < stem ? n : stem, base, ends[i % 2]);
    if (perp_exists(asf)) return asf;
    free(asf);
  }
  char *in = folder > 0 ? perp_xprintf("%.*s", folder > 1 ? folder - 1 : 1, path)
                        : perp_xstrdup(".");
  char *only = skeleton_only(in);
  free(in);
  return only;
}

static char *skeleton_text(perp_diag *diag, const perp_node *at, const char *path, size_t *size)
{
  const char *why;
  char *text = perp_read_input(path, size, &why);
  if (text == NULL) perp_diag_error(diag, at, 0, NULL, "cannot read %s: %s", path, why);
  return text;
}

static bool skeleton_asf(perp_diag *diag, const perp_node *at, const char *path, perp_bvh *out)
{
  size_t size;
  char *text = skeleton_text(diag, at, path, &size);
  const bool good = text != NULL && perp_asf_read(diag, path, text, size, out);
  free(text);
  return good;
}

static bool skeleton_amc(perp_diag *diag, const perp_node *at, const char *path,
                         const perp_skeleton_options *options, perp_bvh *out, char **other)
{
  char *asf = options->skeleton != NULL ? perp_xstrdup(options->skeleton) : skeleton_beside(path);
  size_t size;
  *out = (perp_bvh){ .n = 0 };
  if (asf == NULL) {
    perp_diag_error(diag, at, 0,
                    "put the skeleton NAME.asf beside NAME.amc, or use perp motion bvh NAME.amc "
                    "--skeleton FILE.asf",
                    "%s moves a skeleton in an ASF file, but there is none for it in its folder",
                    path);
    return false;
  }
  char *text = skeleton_asf(diag, at, asf, out) ? skeleton_text(diag, at, path, &size) : NULL;
  const double time = options->frame_time > 0 ? options->frame_time : SKELETON_AMC_TIME;
  const bool good = text != NULL && perp_amc_read(diag, path, text, size, time, out);
  free(text);
  if (!good) perp_bvh_free(out);
  if (good && other != NULL)
    *other = asf;
  else
    free(asf);
  return good;
}

bool perp_skeleton_load(perp_diag *diag, const perp_node *at, const char *path,
                        const perp_skeleton_options *options, perp_bvh *out, char **other)
{
  const perp_skeleton_options none = { 0 };
  const size_t n = strlen(path);
  if (options == NULL) options = &none;
  if (other != NULL) *other = NULL;
  const bool good = skeleton_is(path, n, ".amc") ? skeleton_amc(diag, at, path, options, out, other)
                    : skeleton_is(path, n, ".asf") ? skeleton_asf(diag, at, path, out)
                                                   : perp_bvh_load(diag, at, path, out);
  if (!good) return false;
  if (options->frame_time > 0) out->frame_time = options->frame_time;
  if (options->start == 0 && options->end == 0) return true;
  const int frames = out->frames;
  if (perp_bvh_cut(out, options->start, options->end > 0 ? options->end : -1)) return true;
  perp_diag_error(diag, at, 0, "frames are numbered from 0: start <= end < number of frames",
                  "%s has %d frames: start=%d, end=%d are no part of it", path, frames,
                  options->start, options->end);
  perp_bvh_free(out);
  if (other != NULL) {
    free(*other);
    *other = NULL;
  }
  return false;
}
