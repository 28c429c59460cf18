/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading BVH files. */
#include "experiments/import/bvh.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"
#include "solvers/core/shown.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD = 40 };

typedef struct bvh_reader {
  perp_diag *diag;
  perp_source src;
  perp_bvh *to;
  const char *s;            /* what is read next */
  const char *line;         /* where its line begins */
  int lines;                /* before it */
  int open[PERP_BVH_DEPTH]; /* joints that are not closed */
  int depth;
  bool failed;
} bvh_reader;

/* ---- words ---- */

__attribute__((format(printf, 4, 5))) static bool bvh_wrong(bvh_reader *reader, const char *at,
                                                            const char *hint, const char *fmt, ...)
{
  if (reader->failed) return false;
  reader->failed = true;
  int column = 0;
  for (const char *text = reader->line; text < at; text++)
    column += ((unsigned char)*text & 0xc0) != 0x80;
  va_list ap;
  va_start(ap, fmt);
  perp_diag_line(reader->diag, &reader->src, reader->lines, column, hint, fmt, ap);
  va_end(ap);
  return false;
}

/* Skip blanks, and ends of lines. */
static void bvh_skip(bvh_reader *reader)
{
  for (;; reader->s++) {
    if (*reader->s == '\n') {
      reader->lines++;
      reader->line = reader->s + 1;
    } else if (*reader->s != ' ' && *reader->s != '\t' && *reader->s != '\r')
      return;
  }
}

/* The length of the word that begins here; braces are words of their own. */
static int bvh_length(const char *text)
{
  if (*text == '{' || *text == '}') return 1;
  return (int)strcspn(text, " \t\r\n{}");
}

/* The next word, shortened to what a message shows; where it begins. */
static const char *bvh_word(bvh_reader *reader, char word[WORD])
{
  bvh_skip(reader);
  const char *at = reader->s;
  const int n = bvh_length(at);
  snprintf(word, WORD, "%.*s", n < WORD - 1 ? n : WORD - 1, at);
  for (char *text = word; *text != '\0'; text++)
    if ((unsigned char)*text < ' ' || (unsigned char)*text > '~') *text = '?';
  reader->s += n;
  return at;
}

static bool bvh_expect(bvh_reader *reader, const char *want, const char *hint)
{
  char word[WORD];
  const char *at = bvh_word(reader, word);
  if (strcasecmp(word, want) == 0) return true;
  return bvh_wrong(reader, at, hint, "%s is missing here: got %s", want,
                   word[0] != '\0' ? word : "the end of the file");
}

/* A decimal number at s, and how long; false: something else. */
static bool bvh_decimal(const char *s, int n, double *value)
{
  if (n == 0 || n > 60 || (int)strspn(s, "+-.0123456789eE") < n) return false;
  return perp_real_at(s, value) == s + n && isfinite(*value) && fabs(*value) <= 1e9;
}

static bool bvh_number(bvh_reader *reader, const char *what, double *value)
{
  char word[WORD];
  const char *at = bvh_word(reader, word);
  if (bvh_decimal(at, bvh_length(at), value)) return true;
  return bvh_wrong(reader, at, "a finite decimal number below 1e9",
                   "%s: a number is required, got %s", what,
                   word[0] != '\0' ? word : "the end of the file");
}

static bool bvh_whole(bvh_reader *reader, const char *what, int most, int *value)
{
  const char *at;
  double x = 0;
  bvh_skip(reader);
  at = reader->s;
  if (!bvh_number(reader, what, &x)) return false;
  if (x >= 0 && x <= most && x == floor(x)) {
    *value = (int)x;
    return true;
  }
  char hint[60];
  snprintf(hint, sizeof hint, "an integer from 0 to %d", most);
  return bvh_wrong(reader, at, hint, "%s: got %.*s", what, bvh_length(at), at);
}

/* ---- the tree ---- */

static bool bvh_channels(bvh_reader *reader, perp_bvh_joint *joint)
{
  static const char *const names[] = { "Xposition", "Yposition", "Zposition",
                                       "Xrotation", "Yrotation", "Zrotation" };
  const char *at = reader->s;
  if (joint->channels > 0)
    return bvh_wrong(reader, at, "one line CHANNELS for each joint",
                     "%s has a second line CHANNELS", joint->name);
  if (!bvh_whole(reader, "CHANNELS", PERP_BVH_CHANNELS, &joint->channels)) return false;
  joint->first = reader->to->channels;
  reader->to->channels += joint->channels;
  for (int channel = 0; channel < joint->channels; channel++) {
    char word[WORD];
    int k = 0;
    at = bvh_word(reader, word);
    while (k < 6 && strcasecmp(word, names[k]) != 0) k++;
    if (k == 6)
      return bvh_wrong(
          reader, at, "Xposition, Yposition, Zposition, Xrotation, Yrotation, Zrotation",
          "%s has %d channels, but channel %d is not one: %s", joint->name, joint->channels,
          channel + 1, word[0] != '\0' ? word : "the end of the file");
    for (int b = 0; b < channel; b++)
      if ((int)joint->channel[b] == k)
        return bvh_wrong(reader, at, "each channel of a joint only once",
                         "%s has the channel %s twice", joint->name, word);
    joint->channel[channel] = (perp_bvh_channel)k;
  }
  return true;
}

/* The rest of the line up to a brace: names may have blanks in them. */
static const char *bvh_name(bvh_reader *reader)
{
  while (*reader->s == ' ' || *reader->s == '\t') reader->s++;
  size_t n = strcspn(reader->s, "\r\n{}");
  const char *s = reader->s;
  reader->s += n;
  while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
  char *name = perp_pool_strndup(&reader->to->pool, s, n < 100 ? n : 100);
  perp_shown_clean(name);
  for (char *c = name; *c != '\0'; c++)
    if (strchr("\t?\"\\{}:,[]#", *c) != NULL) *c = '_';
  return name;
}

/* ROOT, JOINT or End: a new one, open. */
static bool bvh_open(bvh_reader *reader, const char *at, bool end)
{
  perp_bvh *bvh = reader->to;
  const int parent = reader->depth > 0 ? reader->open[reader->depth - 1] : -1;
  const char *name = bvh_name(reader);
  if (name[0] == '\0' && !end) return bvh_wrong(reader, at, "JOINT NAME", "a joint needs a name");
  if (parent >= 0 && bvh->joint[parent].end)
    return bvh_wrong(reader, at, "close the end site with }", "an end site cannot have joints");
  if (bvh->n == PERP_BVH_JOINTS)
    return bvh_wrong(reader, at, "remove fingers and other small joints",
                     "the file has more than %d joints, which is the limit", PERP_BVH_JOINTS);
  if (reader->depth == PERP_BVH_DEPTH)
    return bvh_wrong(reader, at, "a } may be missing above",
                     "joints are nested deeper than %d, which is the limit", PERP_BVH_DEPTH);
  bvh->joint = perp_pool_grown(&bvh->pool, bvh->joint, bvh->n, sizeof *bvh->joint);
  bvh->joint[bvh->n] = (perp_bvh_joint){ .name = end ? bvh->joint[parent].name : name,
                                         .end = end,
                                         .parent = parent,
                                         .line = reader->lines + 1 };
  reader->open[reader->depth++] = bvh->n++;
  return bvh_expect(reader, "{", "write a block behind the name: { OFFSET ... }") &&
         bvh_expect(reader, "OFFSET", "begin the block with OFFSET x y z");
}

static bool bvh_offset(bvh_reader *reader)
{
  perp_bvh_joint *joint = &reader->to->joint[reader->to->n - 1];
  for (int i = 0; i < 3; i++)
    if (!bvh_number(reader, "OFFSET", &joint->offset[i])) return false;
  return true;
}

static bool bvh_hierarchy(bvh_reader *reader)
{
  if (!bvh_expect(reader, "HIERARCHY", "a BVH file begins with HIERARCHY")) return false;
  do {
    char word[WORD];
    const char *at = bvh_word(reader, word);
    const bool root = strcasecmp(word, "ROOT") == 0, end = strcasecmp(word, "End") == 0;
    if (reader->depth == 0 && !root)
      return bvh_wrong(reader, at, "ROOT NAME { ... }", "ROOT is missing here: got %s",
                       word[0] != '\0' ? word : "the end of the file");
    if (root && reader->depth > 0)
      return bvh_wrong(reader, at, "a } may be missing above", "ROOT cannot be inside a joint");
    if (root || end || strcasecmp(word, "JOINT") == 0) {
      if (!bvh_open(reader, at, end) || !bvh_offset(reader)) return false;
    } else if (strcasecmp(word, "CHANNELS") == 0) {
      perp_bvh_joint *joint = &reader->to->joint[reader->open[reader->depth - 1]];
      if (joint->end)
        return bvh_wrong(reader, at, "remove this line", "an end site cannot have channels");
      if (!bvh_channels(reader, joint)) return false;
    } else if (strcmp(word, "}") == 0)
      reader->depth--;
    else
      return bvh_wrong(reader, at, "JOINT, End Site, CHANNELS or }", "%s is not allowed here",
                       word[0] != '\0' ? word : "the end of the file");
  } while (reader->depth > 0);
  return true;
}

/* ---- frames ---- */

static bool bvh_frame(bvh_reader *reader, int frame)
{
  const int want = reader->to->channels;
  double *value = reader->to->value + (size_t)frame * (size_t)want;
  bvh_skip(reader);
  if (*reader->s == '\0')
    return bvh_wrong(reader, reader->s, "correct the number behind Frames:, or add the frames",
                     "frame %d of %d is missing: the file ends", frame + 1, reader->to->frames);
  for (int n = 0;; n++) {
    while (*reader->s == ' ' || *reader->s == '\t' || *reader->s == '\r') reader->s++;
    if (*reader->s == '\n' || *reader->s == '\0') {
      if (n == want) return true;
      return bvh_wrong(reader, reader->s,
                       "write one line for each frame, with a number for each channel",
                       "frame %d has only %d numbers for %d channels", frame + 1, n, want);
    }
    if (n == want)
      return bvh_wrong(
          reader, reader->s, "write one line for each frame, with a number for each channel",
          "frame %d has more than %d numbers, the sum of all CHANNELS", frame + 1, want);
    char word[WORD];
    const char *at = reader->s;
    if (!bvh_decimal(at, bvh_length(at), &value[n])) {
      bvh_word(reader, word);
      return bvh_wrong(reader, at, "a finite decimal number below 1e9",
                       "frame %d, channel %d is not a number: %s", frame + 1, n + 1, word);
    }
    reader->s += bvh_length(at);
  }
}

static bool bvh_motion(bvh_reader *reader)
{
  perp_bvh *bvh = reader->to;
  if (!bvh_expect(reader, "MOTION", "write MOTION behind the tree of joints") ||
      !bvh_expect(reader, "Frames:", "Frames: NUMBER") ||
      !bvh_whole(reader, "Frames", PERP_BVH_FRAMES, &bvh->frames) ||
      !bvh_expect(reader, "Frame", "Frame Time: SECONDS") ||
      !bvh_expect(reader, "Time:", "Frame Time: SECONDS"))
    return false;
  bvh_skip(reader);
  const char *at = reader->s;
  if (!bvh_number(reader, "Frame Time", &bvh->frame_time)) return false;
  if (!(bvh->frame_time > 0) || bvh->frame_time > 1e6)
    return bvh_wrong(reader, at, "write seconds, as 0.0333333",
                     "the time of a frame must be above 0: got %g s", bvh->frame_time);
  /* each number has two characters at least: a lie about frames takes no memory, the frame that is
   * missing says it */
  const size_t all = (size_t)bvh->frames * (size_t)bvh->channels, most = strlen(reader->s) / 2 + 1;
  bvh->value = perp_pool_alloc(&bvh->pool, (all < most ? all : most) + (size_t)bvh->channels + 1,
                               sizeof *bvh->value);
  for (int frame = 0; frame < bvh->frames; frame++)
    if (bvh->channels > 0 && !bvh_frame(reader, frame)) return false;
  bvh_skip(reader);
  return *reader->s == '\0' ||
         bvh_wrong(reader, reader->s, "correct the number behind Frames:, or remove the rest",
                   "the file continues behind frame %d, the last one", bvh->frames);
}

bool perp_bvh_read(perp_diag *diag, const char *name, const char *text, size_t size, perp_bvh *out)
{
  bvh_reader reader = { .diag = diag, .src = { name, text }, .to = out, .s = text, .line = text };
  *out = (perp_bvh){ .n = 0 };
  if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* byte order mark */
    reader.s = reader.line = reader.src.text = text + 3;
  bool good = memchr(text, '\0', size) == NULL ||
              bvh_wrong(&reader, text, NULL, "the file is not a text file");
  good = good && bvh_hierarchy(&reader) && bvh_motion(&reader);
  if (good)
    perp_bvh_placed(out);
  else
    perp_bvh_free(out);
  return good;
}

bool perp_bvh_load(perp_diag *diag, const perp_node *at, const char *path, perp_bvh *out)
{
  const char *why;
  size_t size;
  char *text = perp_read_input(path, &size, &why);
  *out = (perp_bvh){ .n = 0 };
  if (text == NULL) {
    perp_diag_error(diag, at, 0, NULL, "cannot read %s: %s", path, why);
    return false;
  }
  const bool good = perp_bvh_read(diag, path, text, size, out);
  free(text);
  return good;
}

/* Which joints but the root have their place in their channels. */
void perp_bvh_placed(perp_bvh *bvh)
{
  for (int j = 0; j < bvh->n; j++) {
    perp_bvh_joint *joint = &bvh->joint[j];
    joint->placed = false;
    for (int channel = 0; joint->parent >= 0 && channel < joint->channels; channel++)
      for (int k = 0; joint->channel[channel] < PERP_BVH_RX && k < bvh->frames && !joint->placed;
           k++)
        joint->placed =
            bvh->value[(size_t)k * (size_t)bvh->channels + (size_t)(joint->first + channel)] != 0;
  }
}

bool perp_bvh_cut(perp_bvh *bvh, int first, int last)
{
  if (last < 0) last = bvh->frames - 1;
  if (first < 0 || first > last || last >= bvh->frames) return false;
  bvh->value += (size_t)first * (size_t)bvh->channels;
  bvh->frames = last - first + 1;
  return true;
}

bool perp_bvh_moves(const perp_bvh *bvh, int joint)
{
  const perp_bvh_joint *bvh_joint = &bvh->joint[joint];
  for (int frame = 1; frame < bvh->frames; frame++) {
    const double *now = bvh->value + (size_t)frame * (size_t)bvh->channels + bvh_joint->first;
    for (int channel = 0; channel < bvh_joint->channels; channel++) {
      const double *first = bvh->value + bvh_joint->first;
      if ((bvh_joint->channel[channel] >= PERP_BVH_RX || bvh_joint->parent < 0 ||
           bvh_joint->placed) &&
          fabs(now[channel] - first[channel]) > 1e-6 * (1 + fabs(first[channel])))
        return true;
    }
  }
  return false;
}

void perp_bvh_free(perp_bvh *bvh)
{
  perp_pool_free(&bvh->pool);
  *bvh = (perp_bvh){ .n = 0 };
}

/* ---- poses ---- */

/* q <- q (turn by angle about axis k) */
static void bvh_turn(double q[4], int k, double degrees)
{
  const double half = degrees * (3.14159265358979323846 / 360), c = cos(half), s = sin(half);
  const int a = 1 + (k + 1) % 3, b = 1 + (k + 2) % 3;
  const double w = q[0], x = q[1 + k], y = q[a], z = q[b];
  q[0] = w * c - x * s;
  q[1 + k] = w * s + x * c;
  q[a] = y * c + z * s;
  q[b] = z * c - y * s;
}

void perp_bvh_pose(const perp_bvh *bvh, int joint, int frame, double quat[4], double offset[3])
{
  const perp_bvh_joint *bvh_joint = &bvh->joint[joint];
  const double *value = frame < 0
                            ? NULL
                            : bvh->value + (size_t)frame * (size_t)bvh->channels + bvh_joint->first;
  quat[0] = 1, quat[1] = quat[2] = quat[3] = 0;
  for (int i = 0; i < 3; i++) offset[(i + 1) % 3] = bvh_joint->offset[i];
  for (int channel = 0; value != NULL && channel < bvh_joint->channels; channel++) {
    const int k = (int)bvh_joint->channel[channel];
    if (k >= PERP_BVH_RX)
      bvh_turn(quat, (k - PERP_BVH_RX + 1) % 3, value[channel]);
    else if (bvh_joint->parent < 0)
      offset[(k + 1) % 3] += value[channel];
    else if (bvh_joint->placed)
      offset[(k + 1) % 3] = value[channel];
  }
  if (bvh_joint->frame[0] == 0 && bvh_joint->frame[1] == 0 && bvh_joint->frame[2] == 0 &&
      bvh_joint->frame[3] == 0)
    return;
  /* F q F' */
  const double back[4] = { bvh_joint->frame[0], -bvh_joint->frame[1], -bvh_joint->frame[2],
                           -bvh_joint->frame[3] };
  double half[4];
  perp_quat_product(bvh_joint->frame, quat, half);
  perp_quat_product(half, back, quat);
}
